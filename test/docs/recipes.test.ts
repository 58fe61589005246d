import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import type { Scope } from '../../src/auth/scopes.ts';
import { recipes } from '../../src/docs/recipes.ts';
import { providerExamples } from '../monitoring/factories.ts';
import { createIncident } from '../monitoring/incidents/create-incident.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

test.each(recipes)('the recipe of $title creates the monitor as it is written', async ({ monitor }) => {
  const { status, body } = await user.api.post('/api/monitors', { json: monitor });
  expect([status, body.errors]).toEqual([201, undefined]);
  const { http, ...others } = monitor as { http?: { headers?: unknown } };
  const { headers, ...options } = http ?? {};
  expect(body.data).toMatchObject({ ...others, ...(http && { http: options }) });
});

test.each(['A login page', 'A GraphQL endpoint', 'An API with a token', 'A certificate', 'A database port', 'A cron job', 'A backup job'])(
  'there is a recipe for: %s',
  async (title) => {
    const page = await (await fetch(`${service.url}/docs/recipes`)).text();
    expect(page).toContain(`<h2>${title}</h2>`);
  },
);

test('the token of the recipe of an API is stored as a secret, and returned masked', async () => {
  const { monitor } = recipes.find(({ id }) => id === 'api-with-token') ?? {};
  const { body } = await user.api.post('/api/monitors', { json: monitor ?? {} });
  expect(body.data.http.headers).toEqual([{ name: 'Authorization', value: '****6789', secret: true }]);
});

const readPage = async () => (await fetch(`${service.url}/docs/recipes`)).text();

test('the page contains every recipe', async () => {
  const page = await readPage();
  for (const { id, title } of recipes) expect(page).toContain(`<section class="step" id="${id}">\n<h2>${title}</h2>`);
});

/** Returns the samples of the page, as they are copied. */
async function readSamples(): Promise<string[]> {
  const samples = [...(await readPage()).matchAll(/<pre data-language="curl"><code>(.*?)<\/code><\/pre>/gs)].map(
    ([, sample = '']) => sample,
  );
  const characters = { '&#39;': "'", '&quot;': '"', '&lt;': '<', '&gt;': '>', '&amp;': '&' };
  return samples.map((sample) => Object.entries(characters).reduce((text, [code, character]) => text.replaceAll(code, character), sample));
}

/** Runs a command in a shell. The programs do nothing but end with a status. Returns the requests that curl would have sent. */
async function runInShell(command: string, env: Record<string, string>, programs: Record<string, number> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-recipe-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const sent = join(folder, 'sent');
  await mkdir(sent);
  const scripts = Object.entries(programs).map(([name, status]) => [name, `exit ${status}`] as const);
  for (const [name, script] of [...scripts, ['curl', `printf '%s\\0' "$@" > "${sent}/$$"`] as const]) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const { status } = spawnSync('/bin/sh', ['-c', command], { env: { ...process.env, ...env, PATH: `${folder}:${process.env.PATH}` } });
  const calls = await Promise.all((await readdir(sent)).map((file) => readFile(join(sent, file), 'utf8')));
  return { status, requests: calls.map((call) => readArguments(call.split('\0').slice(0, -1))) };
}

/** Returns the request that curl sends with these arguments. */
function readArguments(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    request: { ...text, short: 'X' },
    header: { ...text, short: 'H', multiple: true },
    data: { ...text, short: 'd' },
    'max-time': { ...text, short: 'm' },
    output: { ...text, short: 'o' },
    retry: text,
    'retry-connrefused': flag,
    fail: { ...flag, short: 'f' },
    silent: { ...flag, short: 's' },
    'show-error': { ...flag, short: 'S' },
  } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const { data, request = data === undefined ? 'GET' : 'POST', header = [] } = values;
  const headers = Object.fromEntries(header.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
  expect(positionals).toEqual([expect.stringMatching(`^${service.url}/`)]);
  const path = positionals[0]?.slice(service.url.length) ?? '';
  if (data === undefined) return { method: request, path, headers };
  return { method: request, path, headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers }, raw: data };
}

const send = ({ method, path, ...options }: ReturnType<typeof readArguments>) => service.anonymous.request(method, path, options);

test('every command of the page is accepted as it is pasted, and creates or changes the monitors of the recipes', async () => {
  const samples = await readSamples();
  const scripts = recipes.flatMap(({ script }) => script?.(service.url) ?? []);
  const commands = samples.filter((sample) => !scripts.includes(sample));
  expect([samples.length, commands.length]).toEqual([commands.length + scripts.length, recipes.length + 8]);
  const { id: userId } = await service.createUser();
  const newKey = async (...scopes: Scope[]) =>
    (await service.database.asUser(userId, (em) => createKey(em, { userId, name: 'Recipes', scopes }))).key;
  const [key, providerKey] = [await newKey('monitors:read', 'monitors:write'), await newKey('providers:write')];
  const { body: provider } = await service.anonymous.post('/api/providers', {
    json: providerExamples.email,
    headers: { Authorization: `Bearer ${providerKey}` },
  });
  const responses: Awaited<ReturnType<typeof send>>[] = [];
  let incidentId = 0;
  for (const [index, command] of commands.entries()) {
    const monitorId = responses[0]?.body.data.id;
    if (index === recipes.length) incidentId = await createIncident(service, { id: userId }, { monitorId });
    const ids = { MONITOR: String(monitorId), PROVIDER: String(provider.data.id), INCIDENT: String(incidentId) };
    const { status, requests } = await runInShell(command, { KEY: key, ...ids });
    expect([status, requests.length]).toEqual([0, 1]);
    for (const request of requests) {
      if (index < recipes.length) expect(JSON.parse(request.raw ?? '')).toEqual(recipes[index]?.monitor);
      responses.push(await send(request));
    }
  }
  expect(responses.map(({ status }) => status)).toEqual([...recipes.map(() => 201), 201, 200, 200, 200, 200, 200, 200, 200]);
  const [assigned, open, acknowledged, statistics, overview, checks, changed, changedMany] = responses
    .slice(-8)
    .map(({ body }) => body.data);
  expect(assigned).toMatchObject({ provider_id: provider.data.id, delay_seconds: 600, remind_every_seconds: 3600 });
  expect([open[0].id, acknowledged]).toEqual([incidentId, { ...open[0], acknowledged_at: expect.any(String) }]);
  expect([statistics.window, overview.monitors.total, checks]).toEqual(['30d', recipes.length, []]);
  const hours = (Date.parse(changed.maintenance_until) - Date.now()) / 3_600_000;
  expect([changed.id, Math.round(hours)]).toEqual([responses[0]?.body.data.id, 2]);
  expect(changedMany.changed).toBeGreaterThan(0);
});

/** Creates the monitor of a recipe. Returns its path, and the script of the recipe with its token. */
async function prepare(recipeId: string) {
  const { monitor = {}, script } = recipes.find(({ id }) => id === recipeId) ?? {};
  const { body } = await user.api.post('/api/monitors', { json: monitor });
  const token = String(body.data.heartbeat_url).split('/').at(-1) ?? '';
  return { path: `/api/monitors/${body.data.id}`, script: script?.(service.url).replaceAll('YOUR-TOKEN', token) ?? '' };
}

/** Sends the requests. Returns the status of each response, and that of the monitor. */
async function sendHeartbeats(path: string, requests: ReturnType<typeof readArguments>[]) {
  const statuses: number[] = [];
  for (const request of requests) statuses.push((await send(request)).status);
  return [statuses, (await user.api.get(path)).body.data.status];
}

test.each([
  ['one heartbeat if the job ends with', 0, [200], 'up'],
  ['no heartbeat if the job ends with', 1, [], 'pending'],
])('the line of the crontab sends %s %i: %j, and the monitor is %s', async (_, status, statuses, shown) => {
  const { path, script } = await prepare('cron-job');
  const lines = script.split('\n');
  const variables = Object.fromEntries(
    lines.slice(0, -1).map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const [, job = ''] = /^(?:\S+ ){5}(.+)$/.exec(lines.at(-1) ?? '') ?? [];
  expect(job).toMatch(/^\/usr\/local\/bin\/send-invoices [^%]*$/); // Cron would end the line at a percent sign.
  const { requests } = await runInShell(job.replace('/usr/local/bin/', ''), variables, { 'send-invoices': status });
  expect(await sendHeartbeats(path, requests)).toEqual([statuses, shown]);
});

test.each([
  ['succeeds', 0, 'up'],
  ['fails', 1, 'down'],
])('the script of the backup job reports whether the backup %s, ends with %i, and the monitor is %s', async (_, status, shown) => {
  const { path, script } = await prepare('backup-job');
  const { status: ended, requests } = await runInShell(script, {}, { pg_dump: status });
  expect([ended, ...(await sendHeartbeats(path, requests))]).toEqual([status, [200], shown]);
});
