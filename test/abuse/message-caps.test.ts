// A user who makes the service send as many SMS as possible.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

// Each number gets messages of its own, because more than 5 alerts would become one.
const [monitorCount, numberCount] = [4, 50];
const perRound = monitorCount * numberCount;
/** The message that the limit is reached. */
const notices = 1;
const waiting = { timeout: 90_000, interval: 500 };
const metricsToken = 'token-of-the-abuse-test';

let twilio: WebServer;
let target: WebServer;
let service: AbusedService;

beforeAll(async () => {
  twilio = await startWebServer({ script: scripts.respond('{"sid":"SM1","status":"queued","error_message":null}', 201) });
  target = await startWebServer({ script: scripts.respond('broken', 503) });
  await waitUnlessMidnightIsFar();
  service = await startAbusedService({
    users: 1,
    settings: {
      NET_ALLOW: '127.0.0.0/8',
      TWILIO_API_URL: twilio.url,
      TWILIO_ACCOUNT_SID: `AC${'0123456789abcdef'.repeat(2)}`,
      TWILIO_AUTH_TOKEN: 'hidden-auth-token',
      SMS_FROM: '+15005550006',
      METRICS_TOKEN: metricsToken,
    },
  });
}, 600_000);
afterAll(async () => {
  await service?.remove();
  await Promise.all([twilio?.close(), target?.close()]);
});

guarantee(
  13,
  'Toggling is_active on 4 monitors with 50 phone numbers each sends at most 50 SMS a day, their recoveries and one that says so; the rest is in the log and not sent',
  async () => {
    const api = service.as(service.users[0]);
    const createProvider = async (n: number): Promise<number> =>
      (await api.post('/api/providers', { json: { provider_type: 'sms', phone_number: `+1415555${1000 + n}` } })).body.data.id;
    const providers: number[] = [];
    for (let n = 0; n < numberCount; n++) providers.push(await createProvider(n));
    const paths: string[] = [];
    for (let n = 0; n < monitorCount; n++) {
      const { body } = await api.post('/api/monitors', {
        json: { friendly_name: `M${n}`, url: target.url, interval: 30, is_active: false },
      });
      paths.push(`/api/monitors/${body.data.id}`);
      await Promise.all(providers.map((provider_id) => api.post(`${paths.at(-1)}/notifications`, { json: { provider_id } })));
    }
    const setActive = (chosen: string[], is_active: boolean) => Promise.all(chosen.map((path) => api.put(path, { json: { is_active } })));
    const waitForStatus = (status: string) =>
      expect
        .poll(() => Promise.all(paths.map(async (path) => (await api.get(path)).body.data.status)), waiting)
        .toEqual(paths.map(() => status));
    const [first, ...others] = paths as [string, ...string[]];

    // The limit is reached when every number was told of one outage.
    await setActive([first], true);
    await expect.poll(() => countAlerts('sent'), waiting).toBe(numberCount);
    await setActive(others, true);
    await expect.poll(() => countAlerts('suppressed'), waiting).toBe(perRound - numberCount);
    await expect.poll(() => countAlerts('sent'), waiting).toBe(numberCount + notices);
    target.script = scripts.respond();
    await waitForStatus('up');
    const allowed = 2 * numberCount + notices;
    await expect.poll(() => countAlerts('sent'), waiting).toBe(allowed);

    target.script = scripts.respond('broken', 503);
    await setActive(paths, false);
    await setActive(paths, true);
    await waitForStatus('down');
    const test = await api.post(`/api/providers/${providers[0]}/test`);
    expect([test.status, Number(test.headers.get('Retry-After')) > 0, test.body.detail]).toEqual([
      429,
      true,
      expect.stringContaining('50 SMS per day'),
    ]);
    // What comes after the recovery of a number waits for ten minutes before it is suppressed.
    const logs = await Promise.all(providers.map((id) => api.get(`/api/providers/${id}/deliveries`)));
    const statuses = logs.flatMap(({ body }) => body.data.map(({ status }: { status: string }) => status));
    const logged = (status: string) => statuses.filter((one) => one === status).length;
    expect(logged('sent')).toBe(allowed);
    expect(logged('suppressed') + logged('queued')).toBe(3 * perRound - 2 * numberCount);
    expect(statuses).toHaveLength(3 * perRound + notices);

    // Neither a new provider nor new monitors start a new count.
    await Promise.all(providers.map((id) => api.delete(`/api/providers/${id}`)));
    await Promise.all(paths.map((path) => api.delete(path)));
    const retest = await api.post(`/api/providers/${await createProvider(0)}/test`);
    expect(retest.status).toBe(429);
    expect(twilio.requests.length).toBe(allowed);
    return `${3 * perRound} alerts: ${twilio.requests.length} SMS sent, ${logged('suppressed')} suppressed, ${logged('queued')} waiting`;
  },
  300_000,
);

async function countAlerts(outcome: string): Promise<number> {
  const response = await fetch(`${service.url}/metrics`, { headers: { Authorization: `Bearer ${metricsToken}` } });
  const [, count] =
    new RegExp(`^sitekeeper_alerts_total\\{channel="sms",outcome="${outcome}"\\} (\\d+)`, 'm').exec(await response.text()) ?? [];
  return Number(count ?? 0);
}

/** The count starts again at midnight UTC. */
async function waitUnlessMidnightIsFar() {
  const dayMs = 86_400_000;
  const leftMs = dayMs - (Date.now() % dayMs);
  if (leftMs < 500_000) await delay(leftMs);
}
