import type { LookupAddress } from 'node:dns';
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { isPublic, literalAddress, parseRanges, type Ranges } from './addresses.ts';
import { inHostsFile } from './hosts-file.ts';
import { NetFault, toNetFault } from './net-fault.ts';

/** Where requests may go, and who turns names into addresses. */
export interface Net {
  /** Ranges that are open although they are not public (NET_ALLOW). */
  allow: Ranges;
  /** Instead of /etc/hosts and DNS. All addresses of the name. */
  lookup?: (hostname: string) => Promise<LookupAddress[]>;
}

/** For URLs that the operator has set: they may point anywhere, and names mean what they mean on this machine. */
export const anywhere: Net = {
  allow: parseRanges(['0.0.0.0/0', '::/0']),
  lookup: (hostname) => systemLookup(hostname, { all: true }),
};

/**
 * All addresses of a host, each judged. One that is not allowed refuses them all: a name that has a public and a private
 * address is an attempt to get past us, or at best a coin toss. Connect to what is returned and do not resolve again.
 */
export async function resolveHost(host: string, { allow, lookup = lookUpAll }: Net): Promise<LookupAddress[]> {
  const literal = literalAddress(host);
  const addresses = literal === undefined ? await found(lookup(host)) : [{ address: literal, family: isIPv6(literal) ? 6 : 4 }];
  if (!addresses.every(({ address }) => isPublic(address, allow))) {
    throw new NetFault('address_not_allowed', 'address not allowed: it is private, local or reserved');
  }
  return addresses;
}

/** DNS says that there is no address. Everything else only says that it could not be found out. */
const unknown = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/**
 * The addresses that /etc/hosts or DNS have for a name. Not by the system's own way to look names up: that has a handful of
 * threads, and a few names whose servers are silent would keep everybody waiting, the database included.
 */
export async function lookUpAll(hostname: string, resolver = currentResolver()): Promise<LookupAddress[]> {
  const listed = inHostsFile(hostname);
  if (listed.length > 0) return listed;
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const [ipv4, ipv6] = answers;
  const addresses = [...withFamily(ipv4, 4), ...withFamily(ipv6, 6)];
  if (addresses.length > 0) return addresses;
  const isUnknown = answers.every((answer) => answer.status === 'fulfilled' || unknown.has(answer.reason.code));
  throw isUnknown ? new NetFault('dns', 'DNS name not found') : new NetFault('our_side', 'DNS did not answer');
}

const newResolver = () => new Resolver({ timeout: 2500, tries: 2 });
let known = newResolver();

/** One resolver reads the servers of this machine once; they change where it joins another network. */
function currentResolver(): Resolver {
  const fresh = newResolver();
  if (String(fresh.getServers()) !== String(known.getServers())) known = fresh;
  return known;
}

function withFamily(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}

async function found(looking: Promise<LookupAddress[]>): Promise<LookupAddress[]> {
  const addresses = await looking.catch((error: unknown) => {
    throw toNetFault(error);
  });
  if (addresses.length === 0) throw new NetFault('dns', 'DNS name without an address');
  return addresses;
}
