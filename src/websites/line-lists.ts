import { isIP } from 'node:net';
import type { Fault } from '../errors.ts';

const maxLines = 1000;

/** Lists with one entry a line: line ends become `\n`, blank lines and doubles go, and a bad line is named by number. */
export function readLines(field: 'exclude_ips' | 'exclude_params', text = ''): { text: string; faults: Fault[] } {
  const { isEntry, message } = rules[field];
  const faults: Fault[] = [];
  const entries = new Set<string>();
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const entry = raw.trim();
    if (entry === '') continue;
    if (isEntry(entry)) entries.add(entry);
    else faults.push({ in: 'body', pointer: `/${field}`, code: 'invalid_line', message, line: index + 1 });
    if (entries.size + faults.length > maxLines) {
      // No further: the answer must not grow with whatever was sent.
      faults.push({ in: 'body', pointer: `/${field}`, code: 'too_many_lines', message: `must have at most ${maxLines} lines` });
      break;
    }
  }
  return { text: [...entries].join('\n'), faults };
}

const rules = {
  exclude_ips: { isEntry: isAddressOrRange, message: 'is not an IP address or CIDR range' },
  exclude_params: {
    isEntry: (entry: string) => !/[\s&=#]/.test(entry),
    message: 'is not the name of a query parameter: no blanks, &, = or #',
  },
};

function isAddressOrRange(entry: string): boolean {
  const [address = '', bits, rest] = entry.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  if (family === 0 || rest !== undefined) return false;
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}
