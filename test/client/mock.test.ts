import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Configuration } from '../../generated/client/src/index.ts';
import { type Running, run } from '../support/process.ts';
import { lifeOfAMonitor, lifeOfAWebsite } from './lives.ts';

let running: Running;
let configuration: Configuration;

beforeAll(async () => {
  running = run(tmpdir(), {}, ['mock', '--port', '0']);
  let basePath = '';
  for (let wait = 0; wait < 400 && !basePath; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    basePath = /http:\/\/[\w.]+:\d+/.exec(running.printed())?.[0] ?? '';
  }
  configuration = new Configuration({ basePath, accessToken: 'any' });
});
afterAll(async () => {
  running.child.kill('SIGTERM');
  expect(await running.ended).toBe(0);
});

test('the calls of a website are answered by the mock, too', async () => {
  const { created, listed, verdict, deleted } = await lifeOfAWebsite(configuration);
  expect(created).toMatchObject({ id: expect.any(Number), created_at: expect.any(Date) });
  expect(listed.data[0]?.updated_at).toBeInstanceOf(Date);
  expect(verdict.opens).toBe(true);
  expect(deleted.deleted).toBe(true);
});

test('so are those of a monitor', async () => {
  const life = await lifeOfAMonitor(configuration, { provider_type: 'sms', phone_number: '+4915112345678' });
  expect(life.created).toMatchObject({ id: expect.any(Number), created_at: expect.any(Date) });
  expect(life.incidents.data[0]?.started_at).toBeInstanceOf(Date);
  expect(life.deleted.deleted).toBe(true);
});
