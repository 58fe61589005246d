import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';

/** Not a domain; the message says why, in the words of a fault. */
export class InvalidDomain extends Error {}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The normal form of a domain: lower case, ASCII, no `www.` in front. Takes a name, or an http(s) URL of which the host
 * counts; throws InvalidDomain for anything else. The work is done by the platform's URL code, so that we agree with
 * browsers about every spelling.
 */
export function normalDomain(given: string): string {
  if (/\s/.test(given)) throw new InvalidDomain('must not hold blanks');
  const isUrl = /^https?:\/\//i.test(given);
  if (!isUrl && /[/\\:?#@%[\]]/.test(given))
    throw new InvalidDomain('must be a domain name, or an http(s) URL; a bare name takes no port and no path');
  const url = URL.parse(isUrl ? given : `http://${given}`);
  if (!url) throw new InvalidDomain('must be a domain name');
  if (url.username !== '' || url.password !== '') throw new InvalidDomain('must not hold a user name or password');
  const { hostname } = url;
  if (hostname.startsWith('[') || isIP(hostname) !== 0) throw new InvalidDomain('must be a domain name, not an IP address');
  const domain = hostname.replace(/\.$/, '').replace(/^(www\.)+(?=[^.]+\.)/, '');
  const labels = domain.split('.');
  if (labels.length < 2) throw new InvalidDomain('must have at least two labels, such as example.com');
  if (!labels.every((part) => label.test(part)))
    throw new InvalidDomain('must consist of labels of 1 to 63 letters, digits and inner hyphens');
  // The URL code passes an encoded label that means nothing; turned back into letters it stays encoded.
  if (/(^|\.)xn--/.test(domainToUnicode(domain))) throw new InvalidDomain('holds an encoded label (xn--…) that does not decode');
  if (domain.length > 253) throw new InvalidDomain('must have at most 253 characters');
  return domain;
}
