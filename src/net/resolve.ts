import type { LookupAddress } from 'node:dns';
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { closeSync, openSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { devNull } from 'node:os';
import { isAllowed, isPublic, literalAddress, parseRanges, type Ranges } from './addresses.ts';
import { lookUpInHostsFile } from './hosts-file.ts';
import { NetworkError, toNetworkError } from './network-error.ts';

/** Which addresses requests may reach, and how names are resolved. */
export interface Net {
  /** Ranges that are allowed although they are not public (NET_ALLOW). */
  allow: Ranges;
  /** Whether only these ranges may be reached, and no public address outside of them. */
  onlyAllowed?: boolean;
  /** Replaces /etc/hosts and DNS. Returns all addresses of a name. */
  lookup?: (hostname: string) => Promise<LookupAddress[]>;
}

/** For URLs in the operator's settings: every address is allowed, and names are resolved as on this machine. */
export const anywhere: Net = {
  allow: parseRanges(['0.0.0.0/0', '::/0']),
  lookup: (hostname) => systemLookup(hostname, { all: true }),
};

/**
 * Returns all addresses of a host. If one of them is not allowed, none is: a name with a public and a private address is an
 * attempt to bypass this check, or works only by chance. Connect to the returned addresses and do not resolve again.
 */
export async function resolveHost(host: string, { allow, onlyAllowed, lookup = lookUpAll }: Net): Promise<LookupAddress[]> {
  const literal = literalAddress(host);
  const addresses = literal === undefined ? await requireAddresses(lookup(host)) : [{ address: literal, family: isIPv6(literal) ? 6 : 4 }];
  if (!addresses.every(({ address }) => isPublic(address, allow))) {
    throw new NetworkError('address_not_allowed', 'address not allowed: it is private, local or reserved');
  }
  if (onlyAllowed && addresses.some(({ address }) => !isAllowed(address, allow))) {
    throw new NetworkError('address_not_allowed', 'address not allowed: without https, only addresses in NET_ALLOW are');
  }
  return addresses;
}

/** Why a lookup fails, the most informative reason first. For one name, IPv4 and IPv6 may fail for different reasons. */
const failures: [message: string, ...codes: string[]][] = [
  ['DNS lookup failed: the DNS server reported an error', 'ESERVFAIL', 'EFORMERR', 'ENOTIMP', 'EBADRESP'],
  ['DNS lookup failed: the DNS server refused to answer', 'EREFUSED'],
  ['DNS lookup failed: no response', 'ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED'],
  ['DNS name not found', 'ENOTFOUND', 'EBADNAME', 'ENODATA'],
];

/**
 * Resolves a name with /etc/hosts and DNS. It does not use getaddrinfo, which shares four threads with the rest of the
 * process: a few names with unresponsive servers would delay everything, including connections to the database.
 */
export async function lookUpAll(hostname: string, resolver = currentResolver()): Promise<LookupAddress[]> {
  const listed = lookUpInHostsFile(hostname);
  if (listed.length > 0) return listed;
  const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const [ipv4, ipv6] = results;
  const addresses = [...withFamily(ipv4, 4), ...withFamily(ipv6, 6)];
  if (addresses.length > 0) return addresses;
  const reasons = results.map((result) => result.status === 'rejected' && result.reason);
  if (reasons.some((reason) => reason.code === 'ECONNREFUSED')) assertFileCanBeOpened();
  const [message] = failures.find(([, ...codes]) => reasons.some((reason) => codes.includes(reason.code))) ?? [];
  throw message === undefined ? toNetworkError(reasons.find(Boolean)) : new NetworkError('dns', message);
}

/** A resolver reports a lack of open files as a refused connection. */
function assertFileCanBeOpened(): void {
  try {
    closeSync(openSync(devNull, 'r'));
  } catch (error) {
    throw toNetworkError(error);
  }
}

const newResolver = () => new Resolver({ timeout: 2500, tries: 2 });
let cached = newResolver();

/** A resolver reads the DNS servers of this machine only once, but they change when it joins another network. */
function currentResolver(): Resolver {
  const fresh = newResolver();
  if (String(fresh.getServers()) !== String(cached.getServers())) cached = fresh;
  return cached;
}

function withFamily(result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}

async function requireAddresses(lookup: Promise<LookupAddress[]>): Promise<LookupAddress[]> {
  const addresses = await lookup.catch((error: unknown) => {
    throw toNetworkError(error);
  });
  if (addresses.length === 0) throw new NetworkError('dns', 'DNS name has no address');
  return addresses;
}
