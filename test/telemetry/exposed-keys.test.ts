// Clients send API keys in the wrong place: in the path, as X-Request-Id, or as the name of a field.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { redactCredentials } from '../../src/telemetry/redact.ts';
import type { Tracer } from '../../src/telemetry/tracing.ts';
import { collectOutput } from '../support/process.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

const key = generateKey();
const mask = `${key.slice(0, 9)}****`;

describe('a request with a key in the wrong place', () => {
  let service: TestService;
  let user: TestUser;
  const spans: string[] = [];
  const tracer: Tracer = {
    start(name, options) {
      spans.push(JSON.stringify([name, options]));
      return {
        context: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), flags: 1 },
        end: (outcome) => spans.push(JSON.stringify(outcome)),
      };
    },
    close: async () => {},
  };

  beforeAll(async () => {
    service = await startService({}, { tracer });
    user = await service.createUser();
  });
  afterAll(() => service.stop());

  test.each([
    ['an unknown path', '/api/nope/', 404],
    ['an id', '/api/keys/', 422],
    ['a path outside of the APIs', '/nope/', 404],
  ])('in %s: the problem contains a mask', async (_, path, expected) => {
    for (const sent of [key, key.replace('_', '%5F')]) {
      const response = await fetch(`${service.url}${path}${sent}`, { method: 'DELETE', headers: await authorization() });
      const text = await response.text();
      expect([response.status, JSON.parse(text).instance]).toEqual([expected, `${path}${redactCredentials(sent)}`]);
      expect(text).not.toContain(key.slice(9));
    }
  });

  test('as X-Request-Id: another id is used', async () => {
    for (const sent of [key, `my-${key}`]) {
      const { headers, text } = await service.anonymous.get('/api/monitors', { headers: { 'X-Request-Id': sent } });
      expect(headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(text).not.toContain(key.slice(9));
    }
  });

  test.each([
    ['an unknown field', { json: { [key]: 1 } }, 422],
    ['a field of a nested object', { json: { friendly_name: { [key]: '\u0000' } } }, 422],
    ['a repeated field', { headers: { 'Content-Type': 'application/json' }, raw: `{"${key}":1,"${key}":2}` }, 400],
    ['JSON with a mistake', { headers: { 'Content-Type': 'application/json' }, raw: `{"a":${key}}` }, 400],
  ])('as %s: the problem does not contain it', async (_, options, expected) => {
    const { status, text } = await user.api.post('/api/monitors', options);
    expect(status).toBe(expected);
    expect(text).not.toContain(key.slice(9, 15));
  });

  test('as a field of a form: the problem contains a mask', async () => {
    const { status, body, text } = await user.api.post('/api/v1/websites', { form: { domain: 'a.example', [key]: key } });
    expect([status, body.errors[0].pointer, body.detail]).toEqual([
      422,
      `/${mask}`,
      expect.stringContaining(`/${mask} is not a known field`),
    ]);
    expect(text).not.toContain(key.slice(9));
  });

  test('no span contains it', () => {
    expect(spans.length).toBeGreaterThan(20);
    expect(spans.join()).not.toContain(key.slice(9));
  });

  /** The key of the user, which ApiClient keeps to itself. */
  async function authorization() {
    const { body } = await user.api.post('/api/keys', { json: { name: 'Test', scopes: ['monitors:read'] } });
    return { Authorization: `Bearer ${body.data.key}` };
  }
});

test('the log contains a mask, wherever the key is in a line', async () => {
  const log = join(import.meta.dirname, '../../src/telemetry/log.ts');
  const script = `
    import { createLog } from ${JSON.stringify(log)};
    const log = createLog({ logLevel: 'info' }, 'serve');
    log.info({ path: '/api/keys/${key}', nested: { '${key}': 1 } }, 'request with ${key}');
    log.error({ err: new Error('failed for ${key}') }, 'Request failed');
  `;
  const running = collectOutput(
    spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  expect(await running.ended).toBe(0);
  const lines = running
    .printed()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({ path: `/api/keys/${mask}`, nested: { [mask]: 1 }, msg: `request with ${mask}` }),
    expect.objectContaining({ err: expect.objectContaining({ message: `failed for ${mask}` }) }),
  ]);
  expect(running.printed()).not.toContain(key.slice(9));
});

test('the log of a request contains neither its query string nor its headers', async () => {
  const lines: string[] = [];
  const service = await startService({}, { log: pino({ level: 'info' }, { write: (line: string) => lines.push(line) }) });
  try {
    await service.anonymous.get('/api/monitors?token=hunter2', { headers: { Cookie: 'a=hunter2', 'User-Agent': 'hunter2' } });
    expect(lines.join('')).toContain('"path":"/api/monitors"');
    expect(lines.join('')).not.toContain('hunter2');
  } finally {
    await service.stop();
  }
});
