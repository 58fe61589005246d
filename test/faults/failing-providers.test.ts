// Notification providers that hang, return errors, or reset connections.
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { startReceivers } from '../support/receivers.ts';
import { alertName } from '../support/sample-event.ts';
import { startService, type TestService } from '../support/service.ts';
import { scripts } from '../support/web-server.ts';
import { queueAlerts } from './support/queue-alerts.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
});
afterAll(async () => {
  await service?.stop();
  await receivers?.close();
});

guarantee(
  23,
  'With one provider that hangs, one that returns 429 and one that resets connections, the others deliver meanwhile, and these deliver once they work again',
  async () => {
    const { telegram, twilio, slack, providers } = receivers;
    const { api, id } = await service.createUser();
    const monitor = await api.post('/api/monitors', { json: { friendly_name: 'M', url: 'https://shop.example', is_active: false } });
    const workingScripts = [telegram.script, twilio.script, slack.script] as const;
    telegram.script = scripts.hang();
    twilio.script = scripts.respond('{"message":"Too Many Requests"}', 429, { 'Retry-After': '3' });
    slack.script = scripts.reset();
    // The working provider comes last. If the others delayed it, it would wait 30 seconds for three alerts that hang.
    for (const type of ['sms', 'telegram', 'slack', 'email'] as const) {
      const { body } = await api.post('/api/providers', { json: providers[type] });
      const alerts = { monitorId: monitor.body.data.id, providerId: body.data.id, count: 3, name: type };
      await service.database.asEngine((em) => queueAlerts(em, alerts));
    }
    const listDelivered = async () =>
      service.database.asUser(id, (em) =>
        em.execute<{ type: string; seconds: number }[]>(
          `select ${alertName} as type, max(extract(epoch from done_at - created_at))::float8 as seconds from alerts
            where status = 'sent' group by 1 having count(*) = 3 order by max(done_at)`,
        ),
      );
    await expect.poll(async () => (await listDelivered()).map(({ type }) => type), { timeout: 20_000 }).toEqual(['email']);
    [telegram.script, twilio.script, slack.script] = workingScripts;
    await expect.poll(async () => (await listDelivered()).length, { timeout: 60_000, interval: 250 }).toBe(4);
    const delivered = await listDelivered();
    expect(delivered[0]?.type).toBe('email');
    return delivered.map(({ type, seconds }) => `${type} after ${seconds.toFixed(1)} s`).join(', ');
  },
  120_000,
);
