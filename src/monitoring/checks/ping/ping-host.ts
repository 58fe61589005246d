import { isIP } from 'node:net';

const hostName = /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.?$/;

/** Returns the host that a ping monitor pings, or undefined if the text contains none. */
export function pingHost(text: string): string | undefined {
  if (text.includes('%')) return undefined; // An IPv6 zone of this machine, or percent-encoding.
  if (isIP(text)) return text;
  const isUrl = /^https?:\/\//i.test(text);
  if (!isUrl && /[/\\:?#@[\]]/.test(text)) return undefined;
  const url = URL.parse(isUrl ? text : `http://${text}`);
  if (url?.username !== '' || url.password !== '') return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) || hostName.test(host) ? host : undefined;
}
