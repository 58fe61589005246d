import { isIP, SocketAddress } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { ValidationError } from '../errors.ts';

const maxEntries = 1000;

/**
 * Parses a list with one entry per line. Normalizes line endings and entries, drops empty lines and duplicates, and reports
 * invalid lines by number.
 */
export function parseLineList(field: 'exclude_ips' | 'exclude_params', text = ''): { text: string; errors: ValidationError[] } {
  const { normalize, message } = rules[field];
  const errors: ValidationError[] = [];
  const entries = new Set<string>();
  let count = 0;
  // Splitting the text would create an array of up to 131,072 lines.
  for (let start = 0, line = 1; start < text.length; line++) {
    const lineBreak = text.indexOf('\n', start);
    const end = lineBreak === -1 ? text.length : lineBreak;
    const given = text.slice(start, end).trim();
    start = end + 1;
    if (given === '') continue;
    if (++count > maxEntries) {
      // Stop here, also if all of them are the same: neither the work nor the response may grow with the size of the request.
      errors.push({ in: 'body', pointer: `/${field}`, code: 'too_many_lines', message: `must have at most ${maxEntries} entries` });
      break;
    }
    const entry = normalize(given);
    if (entry !== undefined) entries.add(entry);
    else errors.push({ in: 'body', pointer: `/${field}`, code: 'invalid_line', message, line });
  }
  return { text: [...entries].join('\n'), errors };
}

/** `normalize` returns undefined for an invalid entry. */
const rules = {
  exclude_ips: { normalize: normalizeRange, message: 'must be an IP address or a CIDR range' },
  exclude_params: {
    normalize: (entry: string) => (/[\s\p{Cc}&=#]/u.test(entry) ? undefined : entry),
    message: 'must be a query parameter name without spaces, control characters, &, = or #',
  },
};

/** The 96 bits before an IPv4 address in IPv6 form. A network that starts with them is at least as long. */
const ipv4Prefix = /^::ffff:(?=\d+\.)/;

/**
 * Returns the usual spelling of an address or range, so that each is stored once: IPv6 as in RFC 5952, a range with the first
 * of its addresses, a range of one address as that address, and IPv4 in IPv6 form as IPv4.
 */
function normalizeRange(entry: string): string | undefined {
  const [address = '', bits, rest] = entry.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  const maxBits = family === 4 ? 32 : 128;
  if (family === 0 || rest !== undefined) return undefined;
  if (bits !== undefined && !(/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= maxBits)) return undefined;
  if (bits === undefined || Number(bits) === maxBits) return spell(address).replace(ipv4Prefix, '');
  if (family === 4) return `${ipaddr.IPv4.networkAddressFromCIDR(entry)}/${bits}`;
  const network = spell(ipaddr.IPv6.networkAddressFromCIDR(`${withoutDots(address)}/${bits}`).toString());
  return ipv4Prefix.test(network) ? `${network.replace(ipv4Prefix, '')}/${Number(bits) - 96}` : `${network}/${bits}`;
}

function spell(address: string): string {
  return new SocketAddress({ address, family: isIP(address) === 4 ? 'ipv4' : 'ipv6' }).address;
}

/** Writes the end of an IPv6 address in hexadecimal. The library takes ::192.0.2.7 for ::ffff:192.0.2.7. */
function withoutDots(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)/, (_, ...bytes) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
}
