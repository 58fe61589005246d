import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { type Running, run } from '../support/process.ts';

let running: Running;
let url: string;

beforeAll(async () => {
  running = run(tmpdir(), {}, ['mock', '--port', '0']);
  for (let wait = 0; wait < 200 && !url; wait++) {
    url = /answers on (\S+)\. /.exec(running.printed())?.[1] ?? '';
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});
afterAll(async () => {
  running.child.kill('SIGTERM');
  expect(await running.ended).toBe(0);
});

function client(headers: Record<string, string> = { Authorization: 'Bearer any' }): ApiClient {
  return new ApiClient(url, headers, { isMock: true });
}

test('both APIs answer under the paths of the service, as the contract says', async () => {
  const api = client();
  const [first] = (await api.get('/api/v1/websites')).body.data;
  expect((await api.get(`/api/v1/websites/${first.id}`)).status).toBe(200);
  expect((await api.get('/api/monitors/5')).body.data.id).toBe(5);
  expect((await api.post('/api/v1/websites', { form: { domain: 'example.com' } })).status).toBe(201);
});

test('a request without a key is 401, one that breaks the contract 422', async () => {
  expect((await client({}).get('/api/monitors')).status).toBe(401);
  expect((await client().get('/api/monitors?pageSize=0')).status).toBe(422);
});

test('Prefer chooses the status and the example', async () => {
  const api = client();
  expect((await api.get('/api/monitors/5', { headers: { Prefer: 'code=404' } })).status).toBe(404);
  expect((await api.get('/api/v1/websites', { headers: { Prefer: 'example=none' } })).body.data).toEqual([]);
});

test('a port that makes no sense is refused in one line', async () => {
  const refused = run(tmpdir(), {}, ['mock', '--port', 'x']);
  expect(await refused.ended).toBe(1);
  expect(refused.printed()).toMatch(/^Bad setting\. --port[^\n]*\n$/);
});
