import { Agent } from 'node:http';
import { afterAll, beforeAll, expect } from 'vitest';
import { send } from '../faults/support/load.ts';
import { guarantee } from '../support/guarantee.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

let service: AbusedService;

beforeAll(async () => {
  // With few connections it shows if one of them waits for a hash.
  service = await startAbusedService({ users: 3, settings: { DATABASE_POOL_SIZE: '3' } });
});
afterAll(() => service?.remove());

guarantee(
  9,
  'Hashing holds no connection, and what an Idempotency-Key stores is bounded',
  async () => {
    const [attacker, honest, second] = service.users;
    const agent = new Agent({ keepAlive: true, maxSockets: 300 });
    const url = `${service.url}/api/v1/websites`;
    const statuses: Record<number, number> = {};
    let running = true;
    // Node accepts one connection at a time, so a new one would have to wait for those of the attackers.
    const honestAgent = new Agent({ keepAlive: true, maxSockets: 1 });
    const read = () => send(honestAgent, `${service.url}/api/monitors`, { key: honest?.key ?? '' });
    await read();
    // Each request hashes a password.
    const attack = Array.from({ length: 200 }, async (_, client) => {
      for (let index = 0; running; index++) {
        const form = `domain=a${client}-${index}.example&privacy=2&password=secret${index}`;
        const headers = { 'Idempotency-Key': `k-${client}-${index}` };
        const { status } = await send(agent, url, { method: 'POST', key: (client % 2 ? attacker : second)?.key ?? '', form, headers });
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    });
    const latencies: number[] = [];
    const reads: number[] = [];
    for (let index = 0; index < 100; index++) {
      const { status, ms } = await read();
      reads.push(status);
      latencies.push(ms);
    }
    running = false;
    await Promise.all(attack);
    agent.destroy();
    honestAgent.destroy();
    expect(new Set(reads)).toEqual(new Set([200]));
    expect(statuses[201]).toBeGreaterThan(0);
    // On a slow machine, an attacker may have to wait too long for one of the few connections.
    expect(Object.keys(statuses).filter((status) => !['201', '429', '503'].includes(status))).toEqual([]);

    const api = service.as(honest);
    const headers = { 'Idempotency-Key': 'large' };
    const exclude_params = Array.from({ length: 1000 }, (_, index) => `parameter-${index}-${'x'.repeat(100)}`).join('\n');
    const large = () => api.post('/api/v1/websites', { form: { domain: 'large.example', exclude_params }, headers });
    const first = await large();
    const again = await large();
    expect([first.status, again.status, again.body.code, again.body.id]).toEqual([201, 409, 'already_created', first.body.data.id]);
    const small = () => api.post('/api/v1/websites', { form: { domain: 'small.example' }, headers: { 'Idempotency-Key': 'small' } });
    await small();
    expect((await small()).headers.get('Idempotent-Replayed')).toBe('true');
    const largest = await service.stopAndInspect(async (database) => {
      const [row] = await database.asUser(honest?.id ?? 0, (em) =>
        em.execute<{ largest: number }[]>('select max(octet_length(response::text))::int as largest from idempotent_responses'),
      );
      return row?.largest ?? 0;
    });
    expect(largest).toBeLessThanOrEqual(8192);
    latencies.sort((a, b) => a - b);
    return `200 clients hashing: ${JSON.stringify(statuses)}; 100 reads of another user: all 200, p50 ${latencies[50]?.toFixed(0)} ms, longest ${latencies.at(-1)?.toFixed(0)} ms; largest stored response ${largest} bytes`;
  },
  180_000,
);
