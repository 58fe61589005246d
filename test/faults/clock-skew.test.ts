// Workers whose clock is wrong.
import { afterAll, beforeAll, expect } from 'vitest';
import { countLoggedChecks, readLoggedChecks } from '../support/check-history.ts';
import { urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import type { RunningProcess } from '../support/process.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { wakeAll } from '../support/wake.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';
import { createMonitors } from './support/create-monitors.ts';
import { Deployment } from './support/deployment.ts';

let service: TestService;
let user: TestUser;
let target: WebServer;
let deployment: Deployment;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] });
  user = await service.createUser();
  target = await startWebServer();
  deployment = await Deployment.create({ DATABASE_URL: urlOf(service.database), METRICS_PORT: '0' });
});
afterAll(async () => {
  await deployment?.remove();
  await target?.close();
  await service?.stop();
});

const queryAsEngine = <Row>(sql: string, parameters: unknown[] = []) =>
  service.database.asEngine((em) => em.execute<Row[]>(sql, parameters));

/** Settings of a process whose wall clock is off by so many hours. Its monotonic clock is correct. */
const clockOffBy = (hours: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `const realNow = Date.now; const now = () => Reflect.apply(realNow, Date, []) + ${hours} * 3600_000;
     globalThis.Date = class extends Date { constructor(...args) { super(...(args.length ? args : [now()])); } static now() { return now(); } };`,
  )}`,
});

guarantee(
  21,
  'With worker clocks that are off by an hour, no check is repeated or skipped',
  async () => {
    const rounds = 3;
    await createMonitors(service.database, user.id, target.url, 200);
    const monitors = await deleteMonitorsDueWithin(300);
    await queryAsEngine('update monitors set next_check_at = null returning id');
    const workers = await Promise.all([{}, clockOffBy(1), clockOffBy(-1)].map((settings) => deployment.startWorker(settings)));
    for (let round = 1; round <= rounds; round++) {
      // The checks are spread over a moment, so that every worker claims some of them.
      await queryAsEngine(`update monitors set next_check_at = now() + random() * interval '1.5 seconds' returning id`);
      await wakeAll(service.database);
      await expect.poll(countChecks, { timeout: 60_000 }).toBe(round * monitors);
    }
    // Every round comes after the checks of the one before. If some of those were repeated, the totals would be exceeded now.
    expect([await countChecks(), target.requests.length]).toEqual([rounds * monitors, rounds * monitors]);
    const checksByMonitor = Map.groupBy(await readLoggedChecks(service.database), ({ monitorId }) => monitorId);
    const unevenlyChecked = [...checksByMonitor].filter(([, checks]) => checks.length !== rounds);
    expect([checksByMonitor.size, unevenlyChecked]).toEqual([monitors, []]);
    // The times of checks are those of the database.
    const isWrong = (ms: number) => Math.abs(Date.now() - ms) > 600_000;
    expect([...checksByMonitor.values()].flat().filter(({ checkedAtMs }) => isWrong(checkedAtMs))).toEqual([]);
    const misdated = await queryAsEngine('select id from monitors where abs(extract(epoch from now() - last_checked_at)) > 600');
    expect(misdated).toEqual([]);
    const shares = await Promise.all(workers.map(checksOf));
    expect(Math.min(...shares)).toBeGreaterThan(0);
    return `${rounds} × ${monitors} checks, each made once: ${shares[0]} by the worker with the correct time, ${shares[1]} an hour ahead, ${shares[2]} an hour behind`;
  },
  240_000,
);

/**
 * The next check of a monitor is at its own phase of the day. Deletes the monitors whose phase is near, because they would
 * be due again during the test. Returns the number of monitors that are left.
 */
async function deleteMonitorsDueWithin(seconds: number): Promise<number> {
  return service.database.asUser(user.id, async (em) => {
    const secondsToPhase = '((id * 53377081) % 86400000 / 1000 + 86400 - extract(epoch from now())::bigint % 86400) % 86400';
    await em.execute(`delete from monitors where ${secondsToPhase} < ?`, [seconds], 'run');
    const [left] = await em.execute<{ count: number }[]>('select count(*)::int as count from monitors');
    return left?.count ?? 0;
  });
}

async function countChecks(): Promise<number> {
  return (await countLoggedChecks(service.database)).checks;
}

/** Returns the number of checks in the worker's own metrics. */
async function checksOf({ printed }: RunningProcess): Promise<number> {
  const [, url = ''] = /Serving metrics on (http:[^"\s]+)/.exec(printed()) ?? [];
  const [, count] = /^sitekeeper_checks_total\{type="http",outcome="up"\} (\d+)/m.exec(await (await fetch(url)).text()) ?? [];
  return Number(count ?? 0);
}
