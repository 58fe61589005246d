// The programs of docs/webhooks.md receive what the service sends.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { queueOutages } from '../monitoring/alerts/queue-outages.ts';
import { createMonitor } from '../monitoring/factories.ts';
import { freePort } from '../support/free-port.ts';
import { collectOutput, inheritedVariables } from '../support/process.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

const guide = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');

function programIn(language: string): string {
  const [program, ...others] = [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text);
  if (program === undefined || others.length > 0) throw new Error(`The guide must have one program in ${language}.`);
  return program;
}

let service: TestService;
let user: TestUser;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-webhooks-'));
  service = await startService({}, { net: { allow: parseRanges(['127.0.0.1']) }, engine: true });
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

/** Sends text over a connection of its own. Returns the first line of the response. */
async function sendText(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  socket.write(text);
  let response = '';
  for await (const chunk of socket) response += chunk;
  return response.split('\r\n')[0] ?? '';
}

/** Sends the beginning of a request, and aborts it. */
async function abortRequest(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await new Promise<void>((resolve) => void socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{', () => resolve()));
  socket.resetAndDestroy();
}

const hasPython = spawnSync('python3', ['--version']).status === 0;

describe.each([
  ['ts', 'receiver.mts', 'node', process.execPath, false],
  ['python', 'receiver.py', 'python3', 'python3', !hasPython],
] as const)('the program in %s', (language, name, writtenCommand, command, isMissing) => {
  test('is started as the guide says', () => {
    expect(guide).toContain(`save this as \`${name}\`, and start it with \`WEBHOOK_SECRET=whsec_… PORT=8080 ${writtenCommand} ${name}\``);
  });

  test.skipIf(isMissing)('accepts what the service sends, once, also after a rotation, and nothing else', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const { body: created } = await user.api.post('/api/providers', { json: { provider_type: 'webhook', webhook_url: url } });
    const { id, signing_secret: secret } = created.data;
    const file = join(folder, name);
    await writeFile(file, programIn(language));
    const env = { ...inheritedVariables(), NODE_NO_WARNINGS: '1', WEBHOOK_SECRET: secret, PORT: String(port) };
    const program = collectOutput(spawn(command, [file], { env, stdio: ['ignore', 'pipe', 'ignore'] }));
    try {
      const lines = () => program.printed().trim().split('\n').filter(Boolean);
      const post = async (headers: Record<string, string>, body = '{}') => (await fetch(url, { method: 'POST', headers, body })).status;
      await expect.poll(() => post({}).catch(() => 0), { timeout: 30_000 }).toBe(401);

      expect((await user.api.post(`/api/providers/${id}/test`)).status).toBe(200);
      const { id: monitorId } = await createMonitor(user, { is_active: false });
      await queueOutages(service.database, { userId: user.id, monitorId, providerId: id, count: 1 });
      await expect.poll(lines, { timeout: 15_000 }).toEqual(['test', 'M1 is down: HTTP 503']);
      const newest = async () => (await user.api.get(`/api/providers/${id}/deliveries`)).body.data[0];
      await expect.poll(newest, { timeout: 15_000 }).toMatchObject({ status: 'sent' });
      await user.api.post(`/api/providers/${id}/rotate-secret`);
      await user.api.post(`/api/deliveries/${(await newest()).id}/redeliver`);
      await expect.poll(newest, { timeout: 15_000 }).toMatchObject({ status: 'sent' });
      expect((await user.api.post(`/api/providers/${id}/test`)).status).toBe(200);
      // The event that was sent again has the same id.
      await expect.poll(lines, { timeout: 15_000 }).toEqual(['test', 'M1 is down: HTTP 503', 'test']);

      const sign = (secondsAgo: number, key = secret) => {
        const at = new Date(Date.now() - secondsAgo * 1000);
        const signature = new Webhook(key).sign('x', at, '{"type":"forged"}');
        return { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(at.getTime() / 1000)), 'webhook-signature': signature };
      };
      const body = '{"type":"forged"}';
      const statuses = [await post(sign(400), body), await post(sign(-400), body), await post(sign(0), `${body} `)];
      statuses.push(await post({ ...sign(0), 'webhook-id': 'y' }, body), await post({ ...sign(0), 'webhook-timestamp': 'now' }, body));
      statuses.push(await post(sign(0, `whsec_${'A'.repeat(32)}`), body), await post({ ...sign(0), 'webhook-signature': 'v1, x' }, body));
      expect(statuses).toEqual(Array(7).fill(401));
      expect(lines()).toHaveLength(3);
      await abortRequest(port);
      const lengths = await Promise.all(
        ['-1', 'NaN', '9'.repeat(5000)].map((length) =>
          sendText(port, `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`),
        ),
      );
      expect(lengths).toEqual(Array(3).fill(expect.stringMatching(/^HTTP\/1\.[01] 400 /)));
      expect(await post(sign(0), 'x'.repeat(65_537))).toBe(413);
      expect(await post(sign(200), body)).toBe(204);
      await expect.poll(lines, { timeout: 15_000 }).toContain('forged');
    } finally {
      program.child.kill();
      await program.ended;
    }
  });

  test.skipIf(isMissing).each(['', 'whsec_', 'whsec_€', undefined])('does not start with the secret %j', async (secret) => {
    const file = join(folder, name);
    await writeFile(file, programIn(language));
    const { WEBHOOK_SECRET: _, ...others } = inheritedVariables();
    const env = { ...others, ...(secret !== undefined && { WEBHOOK_SECRET: secret }), PORT: String(await freePort()) };
    const { status, stderr } = spawnSync(command, [file], { env, encoding: 'utf8', timeout: 30_000 });
    expect([status, stderr]).toEqual([1, expect.stringContaining('Set WEBHOOK_SECRET')]);
  });
});
