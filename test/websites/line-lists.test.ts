import { describe, expect, test } from 'vitest';
import { parseLineList } from '../../src/websites/line-lists.ts';

describe('exclude_ips', () => {
  test.each(['192.0.2.7', '192.0.2.0/24', '0.0.0.0/0', '2001:db8::1', '2001:db8::/32', '::ffff:192.0.2.7', '::/128'])(
    'accepts %s',
    (line) => {
      expect(parseLineList('exclude_ips', line)).toEqual({ text: line, errors: [] });
    },
  );

  test.each(['999.1.1.1', '192.0.2.0/33', '192.0.2.0/-1', '192.0.2.0/024', '192.0.2.0/', '1.2.3', '0x7f.1', '::/129', 'fe80::1%eth0', 'x'])(
    'rejects %s and reports its line number',
    (line) => {
      expect(parseLineList('exclude_ips', `192.0.2.1\r\n\r\n${line}`).errors).toEqual([
        { in: 'body', pointer: '/exclude_ips', code: 'invalid_line', message: 'must be an IP address or a CIDR range', line: 3 },
      ]);
    },
  );
});

describe('exclude_params', () => {
  test.each(['utm_source', 'a[b]', 'größe', 'x%20y'])('accepts %s', (line) => {
    expect(parseLineList('exclude_params', line)).toEqual({ text: line, errors: [] });
  });

  test.each(['a b', 'a&b', 'a=b', 'a#b', 'a\tb'])('rejects %j and reports its line number', (line) => {
    expect(parseLineList('exclude_params', `ok\n${line}`).errors).toEqual([
      {
        in: 'body',
        pointer: '/exclude_params',
        code: 'invalid_line',
        message: 'must be a query parameter name without spaces, &, = or #',
        line: 2,
      },
    ]);
  });
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

test('stops at the first line over the limit, so that the errors do not grow with the request', () => {
  const { errors } = parseLineList('exclude_ips', 'x\n'.repeat(50_000));
  expect([errors.length, errors.at(-1)?.code]).toEqual([1002, 'too_many_lines']);
});
