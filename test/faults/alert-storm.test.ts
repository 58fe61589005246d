// A thousand monitors that go down at once, and a chat that takes one message a second.
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { startReceivers } from '../support/receivers.ts';
import { startService, type TestService } from '../support/service.ts';
import { startStopwatch } from '../support/stall.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { queueAlerts } from './support/queue-alerts.ts';

const monitors = 1000;

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let target: WebServer;
let service: TestService;

beforeAll(async () => {
  receivers = await startReceivers();
  target = await startWebServer({ host: receivers.externalAddress, script: scripts.respond('down', 503) });
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
});
afterAll(async () => {
  await service?.stop();
  await target?.close();
  await receivers?.close();
});

guarantee(
  24,
  `When ${monitors} monitors go down at once, a Slack channel that takes one message a second is told of all within 60 s, in at most 30 messages, and another user within 5 s`,
  async () => {
    const { slack, providers } = receivers;
    const accept = slack.script;
    const texts: string[] = [];
    let [acceptedAt, rejected] = [0, 0];
    slack.script = (request, response) => {
      if (Date.now() - acceptedAt < 1000) {
        rejected++;
        return scripts.respond('rate_limited', 429, { 'Retry-After': '1' })(request, response);
      }
      acceptedAt = Date.now();
      texts.push(JSON.parse(request.body).text);
      return accept(request, response);
    };
    const [user, other] = [await service.createUser(), await service.createUser()];
    const provider = (await user.api.post('/api/providers', { json: providers.slack })).body.data;
    const json = { friendly_name: 'M', url: `http://m1.example:${target.port}/health`, confirmations: 0, is_active: false };
    const first = (await user.api.post('/api/monitors', { json })).body.data;
    await service.database.asUser(user.id, async (em) => {
      await em.execute(
        `insert into monitors (user_id, friendly_name, url, target_host, type, interval_seconds, confirmations, is_active, status, settings)
         select user_id, 'M' || n, replace(url, 'm1.', 'm' || n || '.'), 'm' || n || '.example', type, interval_seconds, confirmations, false, 'paused', settings
           from monitors, generate_series(2, ?) n where id = ?`,
        [monitors, first.id],
        'run',
      );
      await em.execute(
        'insert into notifications (user_id, monitor_id, provider_id) select user_id, id, ? from monitors',
        [provider.id],
        'run',
      );
    });
    const otherMonitor = (await other.api.post('/api/monitors', { json: { ...json, friendly_name: 'Other' } })).body.data;
    const otherProvider = (await other.api.post('/api/providers', { json: providers.telegram })).body.data;

    const sinceResumed = startStopwatch();
    const ids = await service.database.asUser(user.id, (em) => em.execute<{ id: number }[]>('select id from monitors'));
    const resumed = await user.api.post('/api/monitors/bulk', { json: { ids: ids.map(({ id }) => Number(id)), action: 'resume' } });
    expect(resumed.body.data).toEqual({ matched: monitors, changed: monitors });
    const deliveries = `/api/providers/${provider.id}/deliveries`;
    const total = async (query: string) => (await user.api.get(`${deliveries}?${query}&pageSize=1`)).body.meta.total;
    await expect.poll(() => total('status=sent'), { timeout: 60_000, interval: 250 }).toBeGreaterThan(0);
    await service.database.asEngine((em) =>
      queueAlerts(em, { monitorId: otherMonitor.id, providerId: otherProvider.id, count: 1, name: 'Other' }),
    );
    const sinceQueued = startStopwatch();
    await expect.poll(() => receivers.names().telegram, { timeout: 15_000 }).toContain('Other');
    const otherTold = sinceQueued();

    await expect.poll(() => total('status=sent'), { timeout: 90_000, interval: 250 }).toBe(monitors);
    const allTold = sinceResumed();
    expect(await total('page=1')).toBe(monitors);
    const counted = texts.map((text) => Number(/❌ (\d+) monitors? down/.exec(text)?.[1] ?? 1));
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(monitors);
    expect(texts.length).toBeLessThanOrEqual(30);
    return { elapsed: [allTold, otherTold], measured: `${texts.length} messages, ${rejected} rejected` };
  },
  180_000,
);
