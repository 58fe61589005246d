import { isIP } from 'node:net';
import type { ValidationError } from '../errors.ts';

const maxEntries = 1000;

/** Parses a list with one entry per line. Normalizes line endings, drops empty lines and duplicates, and reports invalid lines by number. */
export function parseLineList(field: 'exclude_ips' | 'exclude_params', text = ''): { text: string; errors: ValidationError[] } {
  const { isEntry, message } = rules[field];
  const errors: ValidationError[] = [];
  const entries = new Set<string>();
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const entry = raw.trim();
    if (entry === '') continue;
    if (isEntry(entry)) entries.add(entry);
    else errors.push({ in: 'body', pointer: `/${field}`, code: 'invalid_line', message, line: index + 1 });
    if (entries.size + errors.length > maxEntries) {
      // Stop here: the response must not grow with the size of the request.
      errors.push({ in: 'body', pointer: `/${field}`, code: 'too_many_lines', message: `must have at most ${maxEntries} entries` });
      break;
    }
  }
  return { text: [...entries].join('\n'), errors };
}

const rules = {
  exclude_ips: { isEntry: isAddressOrRange, message: 'must be an IP address or a CIDR range' },
  exclude_params: {
    isEntry: (entry: string) => !/[\s&=#]/.test(entry),
    message: 'must be a query parameter name without spaces, &, = or #',
  },
};

function isAddressOrRange(entry: string): boolean {
  const [address = '', bits, rest] = entry.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  if (family === 0 || rest !== undefined) return false;
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}
