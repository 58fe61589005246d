// Many workers on one database, one of them with a wrong clock; and providers that misbehave.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { claimDueMonitors, leaseSeconds } from '../../src/monitoring/engine/claim.ts';
import { reopen, urlOf } from '../support/database.ts';
import type { Running } from '../support/process.ts';
import { startReceivers } from '../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { scripts, startWebServer } from '../support/web-server.ts';
import { fault } from './fault.ts';
import { Deployment } from './support/deployment.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] });
  user = await service.createUser();
});
afterAll(() => service.stop());

/** In portions, because a statement may not take longer than 15 seconds. */
async function createMonitors(url: string, count: number) {
  for (let left = count; left > 0; left -= 20_000) {
    await service.database.asUser(user.id, (em) =>
      em.execute(
        `insert into monitors (user_id, friendly_name, url, interval_seconds) select ?, 'M', ?, 86400 from generate_series(1, ?)`,
        [user.id, url, Math.min(left, 20_000)],
        'run',
      ),
    );
  }
}

const asEngine = <Row>(sql: string, parameters: unknown[] = []) => service.database.asEngine((em) => em.execute<Row[]>(sql, parameters));

/** For a process whose clock is off by so many hours; the monotonic clock is not. */
const clockOff = (hours: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `const now = () => Reflect.apply(right, Date, []) + ${hours} * 3600_000; const right = Date.now;
     globalThis.Date = class extends Date { constructor(...given) { super(...(given.length ? given : [now()])); } static now() { return now(); } };`,
  )}`,
});

fault(
  22,
  'The clock of a worker off by an hour: no check doubled or skipped',
  async () => {
    const rounds = 3;
    const target = await startWebServer();
    const deployment = await Deployment.create({ DATABASE_URL: urlOf(service.database), METRICS_PORT: '0' });
    try {
      await createMonitors(target.url, 400);
      const monitors = await keepThoseNotDueFor(300);
      await asEngine('update monitors set next_check_at = null returning id');
      const workers = await Promise.all([{}, clockOff(1), clockOff(-1)].map((settings) => deployment.work(settings)));
      for (let round = 1; round <= rounds; round++) {
        // Spread a little, so that every worker comes by in time for some.
        await asEngine(`update monitors set next_check_at = now() + random() * interval '1.5 seconds' returning id`);
        await expect.poll(checks, { timeout: 60_000 }).toBe(round * monitors);
      }
      await pause(1000); // for what might come twice
      expect([await checks(), target.requests.length]).toEqual([rounds * monitors, rounds * monitors]);
      const [uneven] = await asEngine<{ count: number }>(
        `select count(*)::int as count from check_hours h join monitors m on m.id = h.monitor_id
        group by h.monitor_id having sum(h.checks) <> ? or bool_or(abs(extract(epoch from now() - m.last_checked_at)) > 600)`,
        [rounds],
      );
      expect(uneven).toBeUndefined();
      const shares = await Promise.all(workers.map(checksOf));
      expect(Math.min(...shares)).toBeGreaterThan(0);
      return `${rounds} × ${monitors} checks, made once each: ${shares[0]} by the worker with the right time, ${shares[1]} an hour ahead, ${shares[2]} an hour behind`;
    } finally {
      await deployment.remove();
      await target.close();
      await service.database.asUser(user.id, (em) => em.execute('delete from monitors', [], 'run'));
    }
  },
  240_000,
);

/** After a check the next is at the monitor's own phase of the day. Those whose phase is near go; returns how many are left. */
async function keepThoseNotDueFor(seconds: number): Promise<number> {
  return service.database.asUser(user.id, async (em) => {
    const away = '((id * 7919) % 86400 + 86400 - extract(epoch from now())::bigint % 86400) % 86400';
    await em.execute(`delete from monitors where ${away} < ?`, [seconds], 'run');
    const [left] = await em.execute<{ count: number }[]>('select count(*)::int as count from monitors');
    return left?.count ?? 0;
  });
}

async function checks(): Promise<number> {
  const [row] = await asEngine<{ count: number }>('select coalesce(sum(checks), 0)::int as count from check_hours');
  return row?.count ?? 0;
}

/** As the worker itself counts. */
async function checksOf({ printed }: Running): Promise<number> {
  const [, url = ''] = /Metrics on (http:[^"\s]+)/.exec(printed()) ?? [];
  const [, count] = /^sitekeeper_checks_total\{type="http",outcome="up"\} (\d+)/m.exec(await (await fetch(url)).text()) ?? [];
  return Number(count ?? 0);
}

fault(
  23,
  'Four workers on 100,000 overdue monitors: no double claim',
  async () => {
    const monitors = 100_000;
    await createMonitors('https://shop.example', monitors);
    const due = () => asEngine<{ count: number }>('select count(*)::int as count from monitors where next_check_at <= now()');
    await expect.poll(async () => (await due())[0]?.count, { timeout: 20_000, interval: 500 }).toBe(monitors);
    const workers = await Promise.all([1, 2, 3, 4].map(() => reopen(service.database)));
    const start = performance.now();
    const claimed = await Promise.all(
      workers.map(async (worker) => {
        const mine: number[] = [];
        // Afterwards the first claims have run out.
        while (performance.now() - start < (leaseSeconds - 1) * 1000) {
          const claims = await worker.asEngine((em) => claimDueMonitors(em, 500));
          if (claims.length === 0) break;
          for (const { id } of claims) mine.push(id);
        }
        return mine;
      }),
    );
    const seconds = (performance.now() - start) / 1000;
    await Promise.all(workers.map((worker) => worker.close()));
    const all = claimed.flat();
    expect([all.length, new Set(all).size]).toEqual([monitors, monitors]);
    return `${all.length} claims in ${seconds.toFixed(1)} s (${claimed.map((mine) => mine.length).join(', ')}), 0 twice`;
  },
  120_000,
);

fault(
  24,
  'A provider that hangs, one that answers 429, one that resets: the others are on time, theirs arrive later',
  async () => {
    const others = await startReceivers();
    const sender = await startService({ delivery: others.delivery }, { net: others.net, engine: true });
    try {
      const { api, id } = await sender.createUser();
      const monitor = await api.post('/api/monitors', { json: { friendly_name: 'M', url: 'https://shop.example', is_active: false } });
      const healthy = [others.telegram.script, others.twilio.script, others.slack.script] as const;
      others.telegram.script = scripts.hang();
      others.twilio.script = scripts.accept('{"message":"Too Many Requests"}', 429, { 'Retry-After': '3' });
      others.slack.script = scripts.reset();
      // The healthy one last, where it would wait behind the others if they held it up: three that hang take 30 seconds.
      for (const type of ['sms', 'telegram', 'slack', 'email'] as const) {
        const { body } = await api.post('/api/providers', { json: others.providers[type] });
        await sender.database.asEngine((em) =>
          em.execute(
            `with laid as (
             insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
             select ?, ?, now(), now(), 'HTTP 503' from generate_series(1, 3) returning id, user_id
           )
           insert into alerts (user_id, incident_id, provider_id, kind, subject, body) select user_id, id, ?, 'down', 'S', ? from laid`,
            [id, monitor.body.data.id, body.data.id, type],
          ),
        );
      }
      const sent = async () =>
        sender.database.asUser(id, (em) =>
          em.execute<{ type: string; seconds: number }[]>(
            `select body as type, max(extract(epoch from done_at - created_at))::float8 as seconds from alerts
            where status = 'sent' group by body having count(*) = 3 order by max(done_at)`,
          ),
        );
      await expect.poll(async () => (await sent()).map(({ type }) => type), { timeout: 20_000 }).toEqual(['email']);
      [others.telegram.script, others.twilio.script, others.slack.script] = healthy;
      await expect.poll(async () => (await sent()).length, { timeout: 60_000, interval: 250 }).toBe(4);
      const all = await sent();
      expect(all[0]?.type).toBe('email');
      return all.map(({ type, seconds }) => `${type} after ${seconds.toFixed(1)} s`).join(', ');
    } finally {
      await sender.stop();
      await others.close();
    }
  },
  120_000,
);
