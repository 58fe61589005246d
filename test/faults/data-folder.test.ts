// The embedded database: one folder, one process, and what becomes of the folder when that process dies.
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { fault } from './fault.ts';
import { Deployment, kill, type Serving } from './support/deployment.ts';
import { send } from './support/load.ts';

const kills = 20;
const writers = 4;

let deployment: Deployment;

beforeAll(async () => {
  deployment = await Deployment.create({});
});
afterAll(() => deployment?.remove());

const serve = () => deployment.serve({}, ['serve', '--no-engine']);

const create = (service: Serving, domain: string) =>
  send(undefined, `${service.url}/api/v1/websites`, { method: 'POST', key: deployment.key, form: `domain=${domain}` });

/** Writes as quickly as answers come, until none comes any more. */
function write(service: Serving, name: string, acknowledged: string[]) {
  return Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; ; n++) {
        const domain = `${name}-${writer}-${n}.example`;
        const { status } = await create(service, domain);
        if (status !== 201) return;
        acknowledged.push(domain);
      }
    }),
  );
}

async function kept(service: Serving): Promise<Set<string>> {
  const found = new Set<string>();
  for (let page = 1; ; page++) {
    const { body } = await service.api.get(`/api/v1/websites?per_page=100&page=${page}`);
    for (const { domain } of body.data) found.add(domain);
    if (page >= body.meta.last_page) return found;
  }
}

fault(
  25,
  'The data folder: killed 20 times in the middle of writes, nothing acknowledged is lost; a second process is refused; a full disk is said clearly',
  async () => {
    const acknowledged: string[] = [];
    for (let round = 1; round <= kills; round++) {
      const service = await serve();
      const before = acknowledged.length;
      const writing = write(service, `kill-${round}`, acknowledged);
      await expect.poll(() => acknowledged.length, { timeout: 10_000, interval: 5 }).toBeGreaterThan(before);
      await pause(Math.random() * 200); // at a moment that nobody chose
      await kill(service);
      await writing;
    }
    const service = await serve();
    const lost = async (from: Serving) => {
      const found = await kept(from);
      return acknowledged.filter((domain) => !found.has(domain));
    };
    expect(await lost(service)).toEqual([]);

    const second = deployment.start({}, ['serve']);
    expect(await second.ended).toBe(1);
    expect(second.printed()).toMatch(/^Cannot start\. The data folder .* is in use by another process\.[^\n]*\n$/);

    const before = service.printed().length;
    execFileSync('prlimit', ['--pid', String(service.child.pid), '--fsize=1000000:unlimited']);
    const refused = await create(service, 'no-room.example');
    expect([refused.status, refused.contentType]).toEqual([503, 'application/problem+json']);
    expect(await service.ended).toBe(1);
    const lines = service.printed().slice(before).split('\n');
    const [line = ''] = lines.filter((text) => text.includes('"level":60'));
    expect(line).toMatch(/has given up: could not write .*File too large\. If the disk is full, make room; then start again\./);

    const again = await serve();
    expect(await lost(again)).toEqual([]);
    expect((await create(again, 'room.example')).status).toBe(201);
    await kill(again);
    return `${acknowledged.length} acknowledged writes over ${kills} kills, 0 lost; second process refused; full disk: 503, exit 1, one clear line, runs again`;
  },
  400_000,
);
