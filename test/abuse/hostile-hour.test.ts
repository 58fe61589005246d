// Ten users do at once what one of them could exhaust the service with, while an honest user works. HOSTILE_SECONDS sets the
// length; the default is short, so that it can be part of every run.
import { spawn } from 'node:child_process';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { send } from '../faults/support/load.ts';
import { lengthOf } from '../support/length.ts';
import { collectOutput } from '../support/process.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { peakMemory, resetPeakMemory } from './support/measure.ts';
import { type AbusedService, type AbusedUser, startAbusedService } from './support/service.ts';

const seconds = Number(process.env.HOSTILE_SECONDS ?? lengthOf({ short: 20, long: 600 }));
const tables = [
  'websites',
  'monitors',
  'providers',
  'notifications',
  'incidents',
  'alerts',
  'api_keys',
  'sessions',
  'idempotent_responses',
];

let service: AbusedService;
let sms: WebServer;

beforeAll(async () => {
  sms = await startWebServer({ script: scripts.respond('{"sid":"SM1","status":"queued","error_message":null}', 201) });
  // The targets and the SMS service are on this machine.
  const settings = {
    NET_ALLOW: '127.0.0.0/8',
    TWILIO_API_URL: sms.url,
    TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
    TWILIO_AUTH_TOKEN: 'x'.repeat(32),
    SMS_FROM: '+15005550006',
  };
  service = await startAbusedService({ users: 11, settings });
});
afterAll(async () => {
  agent.destroy();
  await service?.remove();
  await sms?.close();
});

/** The honest user is connected before the others attack. */
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

/** What an honest user does, 10 times a second: reads, and now and then a write. Returns the latencies and the statuses. */
async function work(user: AbusedUser | undefined, durationMs: number) {
  const key = user?.key ?? '';
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  const start = performance.now();
  for (let index = 0; performance.now() - start < durationMs; index++) {
    const [path, form] =
      index % 20 === 0 ? ['/api/v1/websites', `domain=h${index}-${start | 0}.example`] : [reads[index % reads.length] ?? ''];
    const response = await send(agent, service.url + path, { key, method: form ? 'POST' : 'GET', ...(form && { form }) });
    latencies.push(response.ms);
    statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    await delay(Math.max(0, start + (index + 1) * 110 - performance.now()));
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), longest: at(1), statuses };
}

async function countRows(database: Database): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { id } of service.users) {
    for (const table of tables) {
      const [row] = await database.asUser(id, (em) => em.execute<{ count: number }[]>(`select count(*)::int as count from ${table}`));
      counts[table] = (counts[table] ?? 0) + (row?.count ?? 0);
    }
  }
  return counts;
}

/** Moves the times that something expires by into the past, and deletes what has expired, as the service does every ten minutes. */
async function letAnHourPass(database: Database) {
  for (const { id } of service.users) {
    await database.asUser(id, async (em) => {
      await em.execute(`update api_keys set expires_at = expires_at - interval '1 hour'`, [], 'run');
      await em.execute(`update idempotent_responses set created_at = created_at - interval '1 hour'`, [], 'run');
    });
  }
  await database.asAuthenticator((em) => em.execute('select auth_delete_expired(?)', [1_000_000]));
}

const reads = ['/api/v1/websites', '/api/monitors', '/api/keys', '/api/providers'];

test(
  'while ten users attack, at least 9 of 10 requests of an honest user succeed',
  async () => {
    const [honest, ...hostile] = service.users;
    await work(honest, 1000); // The first requests of a process load and compile code.
    resetPeakMemory(service);
    const control = await work(honest, Math.min(seconds / 3, 60) * 1000);
    const plan = JSON.stringify({ url: service.url, keys: hostile.map(({ key }) => key) });
    const attackers = collectOutput(spawn(process.execPath, [join(import.meta.dirname, 'support/attackers.ts'), plan]));
    await expect.poll(attackers.printed, { timeout: 120_000 }).toContain('attacking');
    const attacked = await work(honest, seconds * 1000);
    expect(attackers.child.exitCode, attackers.printed()).toBeNull();
    attackers.child.kill('SIGTERM');
    await attackers.ended;
    const [, statuses = '{}'] = /^statuses (.*);$/m.exec(attackers.printed()) ?? [];
    const peak = peakMemory(service);
    const messages = sms.requests.length;
    const failures = service
      .printed()
      .split('\n')
      .filter((line) => /"status":5\d\d/.test(line));
    const [rows, later] = await service.stopAndInspect(async (database) => {
      const now = await countRows(database);
      await letAnHourPass(database);
      return [now, await countRows(database)];
    });
    const ms = (value: number) => `${value.toFixed(0)} ms`;
    console.log(
      [
        `\n| ${seconds} s, ${service.databaseUrl ? 'PostgreSQL' : 'embedded'} | control | 10 hostile users |`,
        '|---|---|---|',
        `| honest user, p50 | ${ms(control.p50)} | ${ms(attacked.p50)} |`,
        `| honest user, p99 | ${ms(control.p99)} | ${ms(attacked.p99)} |`,
        `| honest user, longest | ${ms(control.longest)} | ${ms(attacked.longest)} |`,
        `| honest user, statuses | ${JSON.stringify(control.statuses)} | ${JSON.stringify(attacked.statuses)} |`,
        `| hostile users, statuses | | ${statuses} |`,
        `| 5xx in the log | | ${failures.length} |`,
        `| peak memory | | ${peak.toFixed(0)} MB |`,
        `| SMS sent | | ${messages} |`,
        `| rows | | ${JSON.stringify(rows)} |`,
        `| rows an hour later | | ${JSON.stringify(later)} |`,
      ].join('\n'),
    );
    // A machine that is too slow for the attack may return 503, which the table shows. Nothing else may fail.
    expect(failures.filter((line) => !line.includes('"status":503'))).toEqual([]);
    const { 200: read = 0, 201: written = 0, 503: unavailable = 0, ...others } = attacked.statuses;
    expect(others).toEqual({});
    expect(read + written).toBeGreaterThanOrEqual(9 * unavailable);
    expect(messages).toBeLessThanOrEqual(hostile.length * 100); // 50 SMS and their recoveries.
    expect(later?.api_keys).toBe(service.users.length);
    expect(service.child.exitCode).toBe(0); // It was stopped, and had not crashed.
  },
  (seconds + 360) * 1000,
);
