import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';

/** The message completes the sentence "domain …" in a validation error. */
export class InvalidDomain extends Error {}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns the normal form of a domain: lower case, ASCII, without a leading `www.`. Accepts a name or an http(s) URL, of which
 * it takes the host, and throws InvalidDomain for anything else. It relies on the URL parser of the platform, so that it
 * agrees with browsers about every spelling.
 */
export function normalizeDomain(given: string): string {
  if (/\s/.test(given)) throw new InvalidDomain('must not contain spaces');
  const isUrl = /^https?:\/\//i.test(given);
  if (!isUrl && /[/\\:?#@%[\]]/.test(given))
    throw new InvalidDomain('must be a domain name or an http(s) URL; a bare name cannot have a port or a path');
  const url = URL.parse(isUrl ? given : `http://${given}`);
  if (!url) throw new InvalidDomain('must be a domain name');
  if (url.username !== '' || url.password !== '') throw new InvalidDomain('must not contain a user name or password');
  const { hostname } = url;
  if (hostname.startsWith('[') || isIP(hostname) !== 0) throw new InvalidDomain('must be a domain name, not an IP address');
  const domain = hostname.replace(/\.$/, '').replace(/^(www\.)+(?=[^.]+\.)/, '');
  const labels = domain.split('.');
  if (labels.length < 2) throw new InvalidDomain('must be a full domain name, such as example.com');
  if (!labels.every((part) => label.test(part)))
    throw new InvalidDomain(
      'must consist of labels separated by dots; each label has 1 to 63 letters, digits or hyphens and does not start or end with a hyphen',
    );
  // The URL parser accepts encoded labels that cannot be decoded. They stay encoded when converted to Unicode.
  if (/(^|\.)xn--/.test(domainToUnicode(domain)))
    throw new InvalidDomain('must not contain an encoded label (xn--…) that cannot be decoded');
  if (domain.length > 253) throw new InvalidDomain('must have at most 253 characters');
  return domain;
}

/** Returns a normalized domain as people write it, or null if that is the same. */
export function unicodeForm(domain: string): string | null {
  const unicode = domainToUnicode(domain);
  return unicode === domain ? null : unicode;
}
