import { isIP } from 'node:net';
import type { ValidationError } from '../../errors.ts';
import { hostError, type Ranges, urlError } from '../../net/addresses.ts';

const hostName = /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.?$/;

/** Validates the `url` of a monitor, which depends on its type. */
export function targetErrors(url: string, type: 'http' | 'ping', allowed: Ranges): ValidationError[] {
  const host = type === 'http' ? URL.parse(url)?.hostname : pingHost(url);
  const hostProblem = host ? hostError(host, allowed) : undefined;
  if (hostProblem !== undefined) return [{ in: 'body', pointer: '/url', code: 'address_not_allowed', message: hostProblem }];
  const message = type === 'http' ? urlError(url, { protocols: ['http', 'https'] }, allowed) : host === undefined ? notPingable : undefined;
  return message === undefined ? [] : [{ in: 'body', pointer: '/url', code: 'invalid_target', message }];
}

const notPingable = 'must be a host name, an IP address or an http(s) URL';

/** Returns the host that a ping monitor pings, or undefined if the text contains none. */
export function pingHost(text: string): string | undefined {
  if (text.includes('%')) return undefined; // An IPv6 zone of this machine, or percent-encoding.
  if (isIP(text)) return text;
  const isUrl = /^https?:\/\//i.test(text);
  if (!isUrl && /[/\\:?#@%[\]]/.test(text)) return undefined;
  const url = URL.parse(isUrl ? text : `http://${text}`);
  if (url?.username !== '' || url.password !== '') return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) || hostName.test(host) ? host : undefined;
}
