// The embedded database under updates: its files stay small, and it survives being killed while it is maintained.
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lengthOf } from '../support/length.ts';
import { Deployment, kill, type RunningService } from './support/deployment.ts';
import { send } from './support/load.ts';

const websites = 20;
const updates = 2000;
const kills = lengthOf({ short: 2, long: 5 });

let deployment: Deployment;
let agent: Agent;

beforeEach(async () => {
  deployment = await Deployment.create({ LOG_LEVEL: 'debug' });
  agent = new Agent({ keepAlive: true });
});
afterEach(async () => {
  agent.destroy();
  await deployment.remove();
});

const serve = () => deployment.serve({}, ['serve', '--no-engine']);

async function createWebsites(service: RunningService): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < websites; n++)
    ids.push((await service.api.post('/api/v1/websites', { form: { domain: `w${n}.example` } })).body.data.id);
  return ids;
}

/** Stores 10 kB that cannot be compressed. Returns the status and what was sent. */
async function update(service: RunningService, id: number) {
  const lines = randomBytes(5000).toString('hex').replace(/.{20}/g, '$&\n').trim();
  const form = `exclude_params=${encodeURIComponent(lines)}`;
  const { status } = await send(agent, `${service.url}/api/v1/websites/${id}`, { method: 'PATCH', key: deployment.key, form });
  return { status, lines };
}

function megabytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0) / 1_000_000;
}

test(`after ${updates} updates of 10 kB the data directory has less than 75 MB`, { timeout: 400_000 }, async () => {
  const service = await serve();
  const ids = await createWebsites(service);
  for (let n = 0; n < updates; n++) expect((await update(service, ids[n % websites] ?? 0)).status).toBe(200);
  // Without maintenance it has 83 MB, and keeps growing. With it, it has 60 MB even after 50,000 updates.
  expect(megabytesIn(join(deployment.folder, 'data'))).toBeLessThan(75);
  expect(service.printed()).toContain('Embedded database: vacuum (process_main false) websites');
  expect(service.printed()).toContain('Embedded database: checkpoint');
  expect(service.printed()).not.toContain('Maintaining the embedded database failed');
});

test(`no acknowledged update is lost in ${kills} kills during maintenance`, { timeout: 400_000 }, async () => {
  let service = await serve();
  const ids = await createWebsites(service);
  const acknowledged = new Map<number, string>();
  for (let round = 0; round < kills; round++) {
    const before = service.printed().length;
    const killed = killDuringMaintenance(service, before);
    for (let n = 0; ; n++) {
      const id = ids[n % websites] ?? 0;
      const { status, lines } = await update(service, id);
      acknowledged.delete(id); // The kill may interrupt an update before or after its commit.
      if (status !== 200) break;
      acknowledged.set(id, lines);
    }
    await killed;
    service = await serve();
    for (const [id, lines] of acknowledged) {
      expect((await service.api.get(`/api/v1/websites/${id}`)).body.data.exclude_params).toBe(lines);
    }
  }
});

/** Kills the service shortly after it has logged a statement of its maintenance, at a random moment of the following ones. */
async function killDuringMaintenance(service: RunningService, from: number) {
  await expect.poll(() => service.printed().indexOf('(process_main false) websites', from), { timeout: 60_000, interval: 5 }).not.toBe(-1);
  await delay(Math.random() * 300);
  await kill(service);
}
