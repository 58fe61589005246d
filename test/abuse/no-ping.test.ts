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

guarantee(
  19,
  'On a machine that cannot ping, a ping monitor stays pending, says why, and is not blamed: no check is counted and no incident opens',
  async () => {
    const [user] = service.users;
    const api = service.as(user);
    const { body } = await api.post('/api/monitors', { json: { friendly_name: 'Router', url: '127.0.0.1', type: 'ping', interval: 30 } });
    const path = `/api/monitors/${body.data.id}`;
    const show = async () => (await api.get(path)).body.data;
    await expect
      .poll(async () => (await show()).last_error, { timeout: 30_000, interval: 250 })
      .toBe('not checked: this service cannot ping: neither fping nor ping works here');
    expect(await show()).toMatchObject({ status: 'pending', last_checked_at: null, last_response_time_ms: null });
    expect((await api.get(`${path}/incidents`)).body.data).toEqual([]);
    const { status, last_error } = await show();
    const hours = await service.stopAndInspect((database) => database.asEngine((em) => em.execute<unknown[]>('select from check_hours')));
    expect(hours).toEqual([]);
    return `${status}, "${last_error}", 0 checks counted, 0 incidents`;
  },
);
