import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

const file = '/etc/hosts';
let read = { changedMs: 0, addressesOf: new Map<string, LookupAddress[]>() };

/** The addresses that this machine's hosts file gives a name; none where there is no such file. Read again when it changes. */
export function inHostsFile(hostname: string): LookupAddress[] {
  const changedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedMs !== read.changedMs) read = { changedMs, addressesOf: parse(changedMs > 0 ? readFileSync(file, 'utf8') : '') };
  return read.addressesOf.get(hostname.replace(/\.$/, '').toLowerCase()) ?? [];
}

/** An address and its names on each line; a comment begins with #. */
function parse(text: string): Map<string, LookupAddress[]> {
  const addressesOf = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    if (family !== 0) for (const name of names) addressesOf.set(name, [...(addressesOf.get(name) ?? []), { address, family }]);
  }
  return addressesOf;
}
