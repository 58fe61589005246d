// Bodies of the largest size in every shape, sent to every operation that reads a body.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { operations } from '../support/contract-operations.ts';
import { guarantee } from '../support/guarantee.ts';
import { longestBlock, reportBlocksOnSignal } from './support/measure.ts';
import { type AbusedService, type AbusedUser, startAbusedService } from './support/service.ts';

const maxBytes = 256 * 1024;
const json = 'application/json';
const form = 'application/x-www-form-urlencoded';

interface Target {
  method: string;
  path: string;
  type: typeof json | typeof form;
  /** A field of the body, and what is needed besides it. */
  fields: string[];
}

const targets: Target[] = [
  { method: 'POST', path: '/api/keys', type: json, fields: ['name', 'scopes', 'expires_at'] },
  { method: 'POST', path: '/api/monitors', type: json, fields: ['http', 'tags', 'friendly_name', 'url', 'type', 'interval'] },
  { method: 'POST', path: '/api/monitors/bulk', type: json, fields: ['ids', 'tags', 'action'] },
  { method: 'PUT', path: '/api/monitors/1', type: json, fields: ['friendly_name', 'url', 'status', 'last_error'] },
  { method: 'POST', path: '/api/providers', type: json, fields: ['provider_type', 'recipient_email', 'webhook_url', 'chat_id', 'token'] },
  { method: 'PUT', path: '/api/providers/1', type: json, fields: ['recipient_email', 'webhook_url', 'channel', 'chat_id', 'phone_number'] },
  { method: 'POST', path: '/api/monitors/1/notifications', type: json, fields: ['provider_id'] },
  { method: 'DELETE', path: '/api/monitors/1/notifications', type: json, fields: ['provider_id'] },
  { method: 'POST', path: '/api/session', type: json, fields: ['email', 'password'] },
  { method: 'PUT', path: '/api/session/password', type: json, fields: ['current', 'new'] },
  { method: 'POST', path: '/api/users', type: json, fields: ['email', 'password'] },
  { method: 'POST', path: '/api/v1/websites', type: form, fields: ['domain', 'password', 'exclude_params', 'exclude_ips'] },
  { method: 'PUT', path: '/api/v1/websites/1', type: form, fields: ['password', 'exclude_params', 'exclude_ips'] },
  { method: 'PATCH', path: '/api/v1/websites/1', type: form, fields: ['favorite', 'exclude_params', 'exclude_ips'] },
  { method: 'POST', path: '/api/v1/websites/1/verify-password', type: form, fields: ['password', 'visitor'] },
];

/** Repeats a text as often as it fits. */
const fill = (unit: string, before = '', after = '') =>
  before + unit.repeat(Math.floor((maxBytes - before.length - after.length) / unit.length)) + after;

/** Joins numbered texts as long as they fit. */
function enumerate(item: (index: number) => string, separator: string, before = '', after = ''): string {
  let text = before + item(0);
  for (let index = 1; ; index++) {
    const next = separator + item(index);
    if (text.length + next.length + after.length > maxBytes) return text + after;
    text += next;
  }
}

function jsonShapes(fields: string[]): Record<string, string> {
  const shapes: Record<string, string> = {
    'nested arrays': '['.repeat(maxBytes / 2) + ']'.repeat(maxBytes / 2),
    'nested objects': `${'{"a":'.repeat(maxBytes / 6)}1${'}'.repeat(maxBytes / 6)}`,
    'an array of empty objects': fill('{},', '[', '{}]'),
    'unknown fields': enumerate((index) => `"${index.toString(36)}":1`, ',', '{', '}'),
    'one field twice': enumerate(() => '"a":1', ',', '{', '}'),
    'an unknown field with a long name': fill('a', '{"', '":1}'),
    'a long text': fill('a', '"', '"'),
    'a text that does not end': fill('a', '{"a":"'),
    'escaped quotes that do not end': fill('\\"', '{"a":"'),
    'keys without values': fill('"a":', '{'),
  };
  for (const field of fields) {
    shapes[`many numbers in ${field}`] = fill('1,', `{"${field}":[`, '1]}');
    shapes[`many texts in ${field}`] = fill('"",', `{"${field}":[`, '""]}');
    shapes[`many fields in ${field}`] = enumerate((index) => `"${index.toString(36)}":1`, ',', `{"${field}":{`, '}}');
    shapes[`letters in ${field}`] = fill('a', `{"${field}":"`, '"}');
    shapes[`escaped control characters in ${field}`] = fill('\\u0001', `{"${field}":"`, '"}');
    shapes[`@ and dots in ${field}`] = fill('a@a.', `{"${field}":"`, '"}');
    shapes[`slashes in ${field}`] = fill('//', `{"${field}":"https:`, '"}');
  }
  return shapes;
}

function formShapes(fields: string[]): Record<string, string> {
  const shapes: Record<string, string> = {
    'unknown fields': enumerate((index) => index.toString(36), '&'),
    'one field again and again': fill('a=&'),
    'only separators': fill('&'),
    'only equals signs': fill('='),
    'fields of one encoded letter': fill('a=%41&'),
    'a field with a long name, twice': `${'a'.repeat(maxBytes / 2 - 2)}&${'a'.repeat(maxBytes / 2 - 2)}`,
  };
  for (const field of fields) {
    shapes[`letters in ${field}`] = fill('a', `${field}=`);
    shapes[`encoded control characters in ${field}`] = fill('%01', `${field}=`);
    shapes[`line breaks in ${field}`] = `${field}=${'\n'.repeat(131_072)}`;
    shapes[`short lines in ${field}`] = `${field}=${enumerate((index) => index.toString(36), '\n').slice(0, 131_072)}`;
    shapes[`the same range in ${field}`] = `${field}=${'::/0\n'.repeat(26_000)}`;
    shapes[`ranges in ${field}`] =
      `${field}=${enumerate((index) => `2001:db8:0:0:0:${(index % 65_536).toString(16)}::/96`, '\n').slice(0, 131_072)}`;
    shapes[`quotes in ${field}`] = fill('"', `${field}=`);
  }
  return shapes;
}

let service: AbusedService;

beforeAll(async () => {
  service = await startAbusedService({ users: 3, settings: { NODE_OPTIONS: reportBlocksOnSignal } });
});
afterAll(() => service?.remove());

guarantee(
  8,
  'The largest bodies in every shape get a bounded 4xx response from every operation with a body',
  async () => {
    // The control shows what this machine and the measurement itself cost. Meanwhile the service finishes its start.
    const controls: number[] = [];
    for (let index = 0; index < 50; index++) {
      await longestBlock(service);
      await service.as(undefined).get('/healthz');
      controls.push(await longestBlock(service));
      await delay(50);
    }
    // The first request of a process loads and compiles code.
    for (const user of service.users) await service.as(user).get('/api/keys');
    const [{ email, password }] = service.users as [AbusedUser];
    const { headers } = await service.as(undefined).post('/api/session', { json: { email, password } });
    const session = new ApiClient(service.url, { Cookie: headers.get('Set-Cookie')?.split(';')[0] ?? '' });
    const covered = targets.map(({ method, path }) => `${method} ${path.replace('/1', '/{id}')}`);
    const withBody = Object.values(operations).filter(({ body }) => body);
    expect(covered.toSorted()).toEqual(withBody.map(({ method, path }) => `${method} ${path}`).toSorted());
    const blocks: { ms: number; about: string }[] = [];
    let requests = 0;
    for (const { method, path, type, fields } of targets) {
      for (const [shape, body] of Object.entries(type === json ? jsonShapes(fields) : formShapes(fields))) {
        const user = service.users[Math.floor(requests++ / 500)]; // A key has 600 requests per minute.
        const about = `${method} ${path}, ${shape}`;
        await longestBlock(service);
        const client = path === '/api/session/password' ? session : service.as(user); // No key can change a password.
        const response = await client.request(method, path, { raw: body, headers: { 'Content-Type': type } });
        blocks.push({ ms: await longestBlock(service), about });
        expect(body.length, about).toBeLessThanOrEqual(maxBytes);
        expect(response.status, about).toBeGreaterThanOrEqual(400);
        expect(response.status, about).toBeLessThan(500);
        expect(response.status, about).not.toBe(429); // It would not have read the body.
        expect(response.text.length, about).toBeLessThan(100_000);
        expect(response.body.errors?.length ?? 0, about).toBeLessThanOrEqual(100);
      }
    }
    blocks.sort((a, b) => b.ms - a.ms);
    const [worst] = blocks;
    const over = blocks.filter(({ ms }) => ms > 50).length;
    // The time is that of the processor. A few are left for a machine that is slow at times.
    expect(over, `${worst?.about}: ${worst?.ms} ms`).toBeLessThanOrEqual(requests / 50);
    return `${requests} requests; longest block ${worst?.ms.toFixed(0)} ms (${worst?.about}), ${over} over 50 ms; control: ${Math.max(...controls.slice(-20)).toFixed(0)} ms`;
  },
  300_000,
);
