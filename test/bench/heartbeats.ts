// Sends 1,000 heartbeats a second to a service in this process for 10 seconds, each to a monitor of its own that has a turn every few
// seconds, and health checks at the same rate as a control. Without TEST_DATABASE_URL it uses the embedded database.
//   npm run bench:heartbeats
//   .ci/with-postgres npm run bench:heartbeats
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { hashToken } from '../../src/monitoring/checks/heartbeat/heartbeat.options.ts';
import { startService } from '../support/service.ts';

const perSecond = 1000;
const seconds = 10;
const monitors = 2000;
const tickMs = 10;

const service = await startService();
const user = await service.createUser();
const tokens = Array.from({ length: monitors }, (_, index) => String(index).padStart(32, 'T'));
await service.database.asUser(user.id, (em) =>
  em.execute(
    `insert into monitors (user_id, friendly_name, type, grace_seconds, settings)
     select ?, 'Job', 'heartbeat', 60, jsonb_build_object('token', jsonb_build_object('hash', hash)) from unnest(?::text[]) as hash`,
    [user.id, `{${tokens.map(hashToken).join(',')}}`],
  ),
);
const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });

console.log('| requests | accepted | per second | median | p99 | slowest |\n|---|---|---|---|---|---|');
await measure('health checks (control)', () => '/healthz');
await measure('heartbeats', (number) => `/api/heartbeats/${tokens[number % monitors]}`);
const [stored] = await service.database.asEngine((em) =>
  em.execute<{ checks: number; up: number }[]>(
    `select (select sum(checks)::int from check_hours) as checks, (select count(*)::int from monitors where status = 'up') as up`,
  ),
);
console.log(`Stored: ${stored?.checks} heartbeats of ${stored?.up} monitors.`);
agent.destroy();
await service.stop();

/** Sends requests at a steady rate, whether or not earlier ones have been answered. */
async function measure(name: string, pathOf: (number: number) => string) {
  const start = performance.now();
  const sent: Promise<{ status: number; ms: number }>[] = [];
  while (sent.length < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, Math.floor(((performance.now() - start) / 1000) * perSecond));
    while (sent.length < due) sent.push(send(pathOf(sent.length)));
    await delay(tickMs);
  }
  const responses = await Promise.all(sent);
  const took = (performance.now() - start) / 1000;
  const accepted = responses.filter(({ status }) => status === 200).length;
  const ms = responses.map((response) => response.ms).sort((a, b) => a - b);
  const at = (share: number) => `${ms[Math.min(ms.length - 1, Math.floor(share * ms.length))]?.toFixed(1)} ms`;
  console.log(`| ${name} | ${accepted} of ${sent.length} | ${Math.round(accepted / took)} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`);
}

function send(path: string): Promise<{ status: number; ms: number }> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const request = http.get(service.url + path, { agent }, (response) => {
      response.resume();
      response.once('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - start }));
    });
    request.once('error', reject);
  });
}
