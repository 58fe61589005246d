import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parsed CIDR ranges, such as those of NET_ALLOW. */
export type Ranges = readonly (readonly [Address, number])[];

/** Parses addresses and CIDR ranges that are known to be well-formed. */
export function parseRanges(texts: readonly string[]): Ranges {
  return texts.map((text) => {
    const [address, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(text);
    // Addresses are compared in their IPv4 form if they have one, so ranges are converted as well.
    const isMapped = address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96;
    return isMapped ? [(address as ipaddr.IPv6).toIPv4Address(), bits - 96] : [address, bits];
  });
}

function wholeAddress(text: string): [Address, number] {
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * Whether users may reach an address: it is public, or in a range that the operator allows. Documentation and benchmark ranges
 * are not public, because some networks use them internally.
 */
export function isPublic(address: string, allow: Ranges): boolean {
  const parsed = parseAddress(address);
  if (!parsed) return false;
  if (isWithin(parsed, allow)) return true;
  // ipaddr.js classifies every address without a special purpose as unicast. In IPv4 that is the public internet. In IPv6 only 2000::/3
  // is allocated; the rest contains IPv4-compatible addresses (::127.0.0.1) and NAT64, which can reach private networks.
  if (parsed.range() !== 'unicast' || isWithin(parsed, neverAllowed)) return false;
  return parsed.kind() === 'ipv4' || isWithin(parsed, globalIpv6);
}

/** Whether an address is in a range that the operator allows. */
export function isAllowed(address: string, allow: Ranges): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && isWithin(parsed, allow);
}

function parseAddress(address: string): Address | undefined {
  if (isIP(address) === 0 || address.includes('%')) return undefined; // A zone means a link-local address.
  return ipaddr.process(address); // An IPv4-mapped IPv6 address becomes the IPv4 address that is reached.
}

const globalIpv6 = parseRanges(['2000::/3']);

// Some of these are also covered by ipaddr.js. They are repeated, so that the guarantee does not depend on its version.
const neverAllowed = parseRanges([
  '168.63.129.16', // looks public, but is Azure's host service, which returns secrets
  '100.64.0.0/10', // carrier-grade NAT; some clouds serve metadata there (100.100.100.200)
  '169.254.0.0/16', // link-local; most clouds serve metadata at 169.254.169.254
  '192.0.0.0/24', // protocol assignments; Oracle's cloud serves metadata there
  '192.88.99.0/24', // 6to4 relays
  '2001::/23', // Teredo, which tunnels to any IPv4 address, and other protocol assignments
  '2002::/16', // 6to4, which tunnels to any IPv4 address
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
]);

function isWithin(address: Address, ranges: Ranges): boolean {
  return ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}

/**
 * Returns the address if a host is an IP address in any notation: `0x7f.1` is 127.0.0.1. Returns undefined for a name, which
 * must be resolved. localhost is always this machine (RFC 6761), whatever a resolver returns.
 */
export function literalAddress(host: string): string | undefined {
  // The URL parser of the platform knows every notation of IPv4: decimal, octal, hex, short, full-width, with a trailing dot.
  const hostname = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}/`)?.hostname ?? host;
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) return bare;
  return /^([^/]*\.)?localhost\.?$/.test(bare) ? '127.0.0.1' : undefined;
}

/** Validates a host from a user. Returns the message of a validation error, or undefined. Names are checked when they are resolved. */
export function hostError(host: string, allow: Ranges): string | undefined {
  const address = literalAddress(host);
  return address === undefined || isPublic(address, allow) ? undefined : 'must be a public address, not a private, local or reserved one';
}

/** Validates a URL in the same way. `protocols` have no colon. */
export function urlError(text: string, { protocols }: { protocols: readonly string[] }, allow: Ranges): string | undefined {
  // The URL parser drops them, so the stored URL would differ from the one that was checked.
  if (/[\s\p{Cc}]/u.test(text)) return 'must not contain spaces or control characters';
  const url = URL.parse(text);
  if (!url || !protocols.includes(url.protocol.slice(0, -1)) || url.hostname === '') return `must be an ${protocols.join(' or ')} URL`;
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return hostError(url.hostname, allow);
}
