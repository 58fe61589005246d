// A machine on which the service cannot ping.
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

let service: AbusedService;

beforeAll(async () => {
  // Without programs on its path, the service finds neither fping nor ping.
  service = await startAbusedService({ users: 1, settings: { PATH: '/nonexistent', NET_ALLOW: '127.0.0.0/8' } });
});
afterAll(() => service?.remove());

guarantee(19, 'On a machine that cannot ping, a ping monitor does not stay up: it goes down and says why', async () => {
  const [user] = service.users;
  const api = service.as(user);
  const { body } = await api.post('/api/monitors', { json: { friendly_name: 'Router', url: '127.0.0.1', type: 'ping', interval: 30 } });
  const path = `/api/monitors/${body.data.id}`;
  const show = async () => (await api.get(path)).body.data;
  const cause = 'this service cannot ping: neither fping nor ping works here';
  await expect.poll(async () => (await show()).status, { timeout: 90_000, interval: 250 }).toBe('down');
  expect(await show()).toMatchObject({ last_error: cause, last_response_time_ms: null });
  expect((await api.get(`${path}/incidents`)).body.data).toMatchObject([{ cause, resolved_at: null }]);
  return `down, "${cause}", 1 incident`;
});
