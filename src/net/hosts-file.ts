import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

const file = '/etc/hosts';
let cache = { changedMs: 0, addressesOf: new Map<string, LookupAddress[]>() };

/** Returns the addresses of a name in this machine's hosts file. The file is read again when it changes. */
export function lookUpInHostsFile(hostname: string): LookupAddress[] {
  const changedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedMs !== cache.changedMs) cache = { changedMs, addressesOf: parse(changedMs > 0 ? readFileSync(file, 'utf8') : '') };
  return cache.addressesOf.get(hostname.replace(/\.$/, '').toLowerCase()) ?? [];
}

/** Each line has an address and its names. A comment starts with #. */
function parse(text: string): Map<string, LookupAddress[]> {
  const addressesOf = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    if (family !== 0) for (const name of names) addressesOf.set(name, [...(addressesOf.get(name) ?? []), { address, family }]);
  }
  return addressesOf;
}
