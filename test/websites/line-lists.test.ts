import { describe, expect, test } from 'vitest';
import { parseLineList } from '../../src/websites/line-lists.ts';

describe('exclude_ips', () => {
  test.each(['192.0.2.7', '192.0.2.0/24', '0.0.0.0/0', '2001:db8::1', '2001:db8::/32', '::', '::/0', '::1'])(
    'accepts %s and keeps it as it is',
    (line) => {
      expect(parseLineList('exclude_ips', line)).toEqual({ text: line, errors: [] });
    },
  );

  test.each([
    ['lower case', '2001:DB8::AB', '2001:db8::ab'],
    ['no leading zeros', '2001:0db8:0001:0002:0003:0004:0005:0006', '2001:db8:1:2:3:4:5:6'],
    ['the longest run of zeros as ::', '2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['the first of two runs of the same length as ::', '2001:0:0:1:1:0:0:1', '2001::1:1:0:0:1'],
    ['a single zero as 0', '2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['the first address of an IPv4 range', '192.0.2.7/24', '192.0.2.0/24'],
    ['the first address of a range that ends within a byte', '192.0.2.255/27', '192.0.2.224/27'],
    ['the first address of an IPv6 range', '2001:db8:1::7/32', '2001:db8::/32'],
    ['the whole IPv4 space', '192.0.2.7/0', '0.0.0.0/0'],
    ['the whole IPv6 space', '2001:db8::7/0', '::/0'],
    ['an IPv4 range of one address as that address', '192.0.2.7/32', '192.0.2.7'],
    ['an IPv6 range of one address as that address', '2001:db8::7/128', '2001:db8::7'],
    ['an IPv4-mapped address as IPv4', '::ffff:192.0.2.7', '192.0.2.7'],
    ['an IPv4-mapped address in hex as IPv4', '::FFFF:c000:207', '192.0.2.7'],
    ['an IPv4-mapped range of one address as IPv4', '::ffff:192.0.2.7/128', '192.0.2.7'],
    ['an IPv4-mapped range as IPv4', '::ffff:192.0.2.7/120', '192.0.2.0/24'],
    ['the range of all IPv4-mapped addresses as IPv4', '::ffff:0:0/96', '0.0.0.0/0'],
    ['a range that is larger than all IPv4-mapped addresses as IPv6', '::ffff:0:0/95', '::fffe:0:0/95'],
    ['an address that only begins like an IPv4-mapped one as IPv6', '::FFFF:0:c000:207', '::ffff:0:c000:207'],
    ['a range that only begins like an IPv4-mapped one as IPv6', '::FFFF:0:c000:207/120', '::ffff:0:c000:200/120'],
    ['a range of IPv4-compatible addresses as IPv6', '::198.51.100.177/120', '::198.51.100.0/120'],
    ['a range of NAT64 addresses in hex', '64:ff9b::198.51.100.177/120', '64:ff9b::c633:6400/120'],
  ])('stores %s: %s', (_, line, stored) => {
    expect(parseLineList('exclude_ips', line)).toEqual({ text: stored, errors: [] });
    expect(parseLineList('exclude_ips', stored).text).toBe(stored);
  });

  test('stores several spellings of one address or range once, in the order of their first line', () => {
    const lines = ['192.0.2.9/24', '2001:db8::1', '192.0.2.0/24', '2001:DB8:0::1/128', '::ffff:192.0.2.1', '192.0.2.1/32'];
    expect(parseLineList('exclude_ips', lines.join('\n'))).toEqual({ text: '192.0.2.0/24\n2001:db8::1\n192.0.2.1', errors: [] });
  });

  test.each([
    '999.1.1.1',
    '192.0.2.0/33',
    '192.0.2.0/-1',
    '192.0.2.0/024',
    '192.0.2.0/',
    '192.0.2.0/24/8',
    '1.2.3',
    '0x7f.1',
    '::/129',
    'fe80::1%eth0',
    'x',
  ])('rejects %s and reports its line number', (line) => {
    expect(parseLineList('exclude_ips', `192.0.2.1\r\n\r\n${line}`).errors).toEqual([
      { in: 'body', pointer: '/exclude_ips', code: 'invalid_line', message: 'must be an IP address or a CIDR range', line: 3 },
    ]);
  });
});

describe('exclude_params', () => {
  test.each(['utm_source', 'a[b]', 'größe', 'x%20y'])('accepts %s', (line) => {
    expect(parseLineList('exclude_params', line)).toEqual({ text: line, errors: [] });
  });

  test.each(['a b', 'a&b', 'a=b', 'a#b', 'a\tb', 'a\u0001b', 'a\u001fb', 'a\u007fb', 'a\u0085b', 'a\rb', 'a\u2028b'])(
    'rejects %j and reports its line number',
    (line) => {
      expect(parseLineList('exclude_params', `ok\n${line}`).errors).toEqual([
        {
          in: 'body',
          pointer: '/exclude_params',
          code: 'invalid_line',
          message: 'must be a query parameter name without spaces, control characters, &, = or #',
          line: 2,
        },
      ]);
    },
  );
});

test('normalizes line endings and removes surrounding spaces, empty lines and duplicates', () => {
  expect(parseLineList('exclude_ips', '10.0.0.0/8\r\n\r\n10.0.0.0/8\n ::1 \n').text).toBe('10.0.0.0/8\n::1');
  expect(parseLineList('exclude_params', '\n \nref\r\nref\r\n').text).toBe('ref');
});

test.each(['exclude_ips', 'exclude_params'] as const)('%s accepts 1,000 entries and rejects 1,001', (field) => {
  const lines = Array.from({ length: 1001 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  expect(parseLineList(field, lines.slice(1).join('\n')).errors).toEqual([]);
  expect(parseLineList(field, lines.join('\n')).errors).toEqual([
    { in: 'body', pointer: `/${field}`, code: 'too_many_lines', message: 'must have at most 1000 entries' },
  ]);
});

test('counts repeated entries, so that the work does not grow with the request', () => {
  const repeated = (count: number) => parseLineList('exclude_ips', '::/0\n'.repeat(count));
  expect(repeated(1000)).toEqual({ text: '::/0', errors: [] });
  expect(repeated(26_000).errors.map(({ code }) => code)).toEqual(['too_many_lines']);
});

test('stops at the first line over the limit, so that the errors do not grow with the request', () => {
  const { errors } = parseLineList('exclude_ips', 'x\n'.repeat(50_000));
  expect([errors.length, errors.at(-1)?.code]).toEqual([1001, 'too_many_lines']);
});

test('reads a list that is absent as an empty one', () => {
  expect(parseLineList('exclude_ips')).toEqual({ text: '', errors: [] });
});
