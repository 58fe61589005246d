import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** CIDR ranges as NET_ALLOW lists them, read once. */
export type Ranges = readonly (readonly [Address, number])[];

/** Reads addresses and CIDR ranges that are known to be well-formed. */
export function parseRanges(texts: readonly string[]): Ranges {
  return texts.map((text) => {
    const [address, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(text);
    // Addresses are judged in their IPv4 form where they have one, so the range is brought into it, too.
    const isMapped = address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96;
    return isMapped ? [(address as ipaddr.IPv6).toIPv4Address(), bits - 96] : [address, bits];
  });
}

function wholeAddress(text: string): [Address, number] {
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * Whether an address is open to users: it lies in the public internet, or in a range that the operator allows. Documentation
 * and benchmark ranges count as not public: nobody is there, but some networks route them to themselves.
 */
export function isPublic(address: string, allow: Ranges): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false; // with a zone it is a neighbour of this machine
  const judged = ipaddr.process(address); // an IPv4 address in IPv6 clothes becomes the IPv4 address that is reached
  if (isWithin(judged, allow)) return true;
  // What ipaddr.js has no name for it calls unicast. In IPv4 that is the public internet; in IPv6 only 2000::/3 is given
  // out, and the rest holds old ways to write an IPv4 address (::127.0.0.1) and NAT64, which reach private networks.
  if (judged.range() !== 'unicast' || isWithin(judged, refusedAnyway)) return false;
  return judged.kind() === 'ipv4' || isWithin(judged, globalIpv6);
}

const globalIpv6 = parseRanges(['2000::/3']);

// What the ranges of ipaddr.js also cover is here again, so that the promise does not hang on the version of a package.
const refusedAnyway = parseRanges([
  '168.63.129.16', // looks public, but is the host below every machine at Azure, and hands out its secrets
  '100.64.0.0/10', // carrier-grade NAT; cloud providers keep metadata there (100.100.100.200)
  '169.254.0.0/16', // link-local, with the metadata of most clouds at 169.254.169.254
  '192.0.0.0/24', // protocol assignments, and the metadata of Oracle's cloud
  '192.88.99.0/24', // the relay of 6to4
  '2001::/23', // Teredo, which tunnels to any IPv4 address, and other protocol assignments
  '2002::/16', // 6to4, the same
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
]);

function isWithin(address: Address, ranges: Ranges): boolean {
  return ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}

/**
 * The address that a host is written as, in its plain form: `0x7f.1` is 127.0.0.1. Undefined for a name, which only a
 * resolver can turn into addresses; but localhost is always this machine (RFC 6761), whatever a resolver says.
 */
export function literalAddress(host: string): string | undefined {
  // The platform's URL code knows every notation of IPv4: decimal, octal, hex, short, full-width, with a dot at the end.
  const hostname = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}/`)?.hostname ?? host;
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) return bare;
  return /^([^/]*\.)?localhost\.?$/.test(bare) ? '127.0.0.1' : undefined;
}

/** What is wrong with a host that a user names, in the words of a fault; undefined where nothing is. Names pass. */
export function refuseHost(host: string, allow: Ranges): string | undefined {
  const address = literalAddress(host);
  return address === undefined || isPublic(address, allow)
    ? undefined
    : 'must not name a private, local or reserved address; only public ones are allowed';
}

/** The same for a URL. `protocols` are written without the colon. */
export function refuseUrl(text: string, { protocols }: { protocols: readonly string[] }, allow: Ranges): string | undefined {
  // The URL code would drop them, and then we would store something other than what we judged.
  if (/[\s\p{Cc}]/u.test(text)) return 'must not hold blanks or control characters';
  const url = URL.parse(text);
  if (!url || !protocols.includes(url.protocol.slice(0, -1)) || url.hostname === '') return `must be an ${protocols.join(' or ')} URL`;
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return refuseHost(url.hostname, allow);
}
