import { isIP } from 'node:net';
import type { Fault } from '../../errors.ts';
import { type Ranges, refuseHost, refuseUrl } from '../../net/addresses.ts';

const hostName = /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.?$/;

/** What is wrong with a monitor's `url`, given its type. */
export function targetFaults(url: string, type: 'http' | 'ping', allowed: Ranges): Fault[] {
  const host = type === 'http' ? URL.parse(url)?.hostname : pingHost(url);
  const notAllowed = host ? refuseHost(host, allowed) : undefined;
  if (notAllowed !== undefined) return [{ in: 'body', pointer: '/url', code: 'address_not_allowed', message: notAllowed }];
  const message =
    type === 'http' ? refuseUrl(url, { protocols: ['http', 'https'] }, allowed) : host === undefined ? notPingable : undefined;
  return message === undefined ? [] : [{ in: 'body', pointer: '/url', code: 'invalid_target', message }];
}

const notPingable = 'must be a host name, an IP address, or an http(s) URL whose host is pinged';

/** The host that a ping monitor pings; undefined where there is none in the text. */
export function pingHost(text: string): string | undefined {
  if (text.includes('%')) return undefined; // a zone of this machine, or an encoding
  if (isIP(text)) return text;
  const isUrl = /^https?:\/\//i.test(text);
  if (!isUrl && /[/\\:?#@%[\]]/.test(text)) return undefined;
  const url = URL.parse(isUrl ? text : `http://${text}`);
  if (url?.username !== '' || url.password !== '') return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) || hostName.test(host) ? host : undefined;
}
