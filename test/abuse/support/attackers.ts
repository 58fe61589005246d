// A process of hostile users, so that they take no time from the process that measures. Each of them does everything at once
// that one ordinary user can do to exhaust the service. It prints the number of responses by status when it is stopped.
import { Agent, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/auth/api-key.ts';

const { url, keys } = JSON.parse(process.argv[2] ?? '') as { url: string; keys: string[] };
const statuses: Record<string, number> = {};
const running = true;

interface Attack {
  method?: string;
  path: string;
  key: string;
  body?: string;
  form?: boolean;
  headers?: Record<string, string>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 200 });

function send({ method = 'GET', path, key, body, form = false, headers = {} }: Attack): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const outgoing = request(
      url + path,
      {
        method,
        agent,
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'Content-Type': form ? 'application/x-www-form-urlencoded' : 'application/json' }),
          ...headers,
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('close', () => done(response.statusCode ?? 0, text));
      },
    );
    const done = (status: number, text: string) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      announceAttack();
      resolve({ status, text });
    };
    outgoing.on('error', () => done(0, '')).end(body);
  });
}

let isAnnounced = false;

/** Tells the test that everything has begun: what succeeds, what is invalid, and what exceeds a limit. */
function announceAttack() {
  if (isAnnounced || !['201', '422', '429'].every((status) => statuses[status])) return;
  isAnnounced = true;
  console.log('attacking');
}

/** Repeats an attack until the end. The pause keeps this process from taking the whole machine. */
async function repeat(pauseMs: number, attack: (index: number) => Promise<unknown>) {
  for (let index = 0; running; index++) {
    await attack(index);
    await delay(pauseMs);
  }
}

/** Accepts connections and never responds. */
const tarpit = createServer((socket) => socket.on('error', () => {}));
await new Promise<void>((resolve) => tarpit.listen(0, '0.0.0.0', resolve));
const { port } = tarpit.address() as { port: number };

function doNotRead(key: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  for (let index = 0; index < 3; index++)
    socket.write(`GET /api/v1/websites?per_page=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  setTimeout(() => socket.destroy(), 40_000).unref();
}

const scopes = JSON.stringify({ name: 'a', scopes: Array(40_000).fill('') });
const fields = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`f${index}`, 1])));
const lines = Array.from({ length: 500 }, (_, index) => `${index}`.padStart(14, '"')).join('\n');

async function attackAs(key: string, user: number) {
  const json = (path: string, body: object, more: Partial<Attack> = {}) =>
    send({ method: 'POST', path, key, body: JSON.stringify(body), ...more });
  // Monitors on a tarpit, each on an address of its own.
  const monitors: number[] = [];
  for (let index = 0; index < 60; index++) {
    const target = `http://127.0.${user + 1}.${index + 1}:${port}/`;
    const { status, text } = await json('/api/monitors', { friendly_name: 'T', url: target, interval: 30 });
    if (status === 201) monitors.push(JSON.parse(text).data.id);
  }
  const { text: created } = await json('/api/providers', { provider_type: 'sms', phone_number: `+1500555${1000 + user}` });
  const provider = JSON.parse(created).data?.id;
  for (const id of monitors.slice(0, 20)) await json(`/api/monitors/${id}/notifications`, { provider_id: provider });

  await Promise.all([
    repeat(200, async () => doNotRead(key)),
    repeat(50, () => send({ method: 'POST', path: '/api/keys', key, body: scopes })),
    repeat(50, () => send({ method: 'POST', path: '/api/monitors', key, body: fields })),
    ...Array.from({ length: 4 }, (_, client) =>
      repeat(20, (index) =>
        send({
          method: 'POST',
          path: '/api/v1/websites',
          key,
          form: true,
          body: `domain=w${client}-${index}-${user}.example&privacy=2&password=secret&exclude_params=${encodeURIComponent(lines)}`,
          headers: { 'Idempotency-Key': `k${client}-${index}` },
        }),
      ),
    ),
    ...Array.from({ length: 4 }, () => repeat(10, () => send({ path: '/api/monitors', key: generateKey() }))),
    repeat(100, () => json('/api/keys', { name: 'a', scopes: ['monitors:read'], expires_at: new Date(Date.now() + 5000).toISOString() })),
    repeat(100, async (index) => {
      const id = monitors[index % 20];
      await send({ method: 'PUT', path: `/api/monitors/${id}`, key, body: JSON.stringify({ is_active: index % 40 < 20 }) });
    }),
  ]);
}

process.on('SIGTERM', () => {
  console.log(`statuses ${JSON.stringify(statuses)};`);
  process.exit();
});
await Promise.all(keys.map(attackAs));
