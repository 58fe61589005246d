// The embedded database: its process is killed, a second process opens its data directory, the disk is full.
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { lengthOf } from '../support/length.ts';
import { Deployment, kill, type RunningService } from './support/deployment.ts';
import { send } from './support/load.ts';

const kills = lengthOf({ short: 5, long: 20 });
const writers = 4;

let deployment: Deployment;

beforeAll(async () => {
  deployment = await Deployment.create({});
});
afterAll(() => deployment?.remove());

const serve = () => deployment.serve({}, ['serve', '--no-engine']);

const create = (service: RunningService, domain: string) =>
  send(undefined, `${service.url}/api/v1/websites`, { method: 'POST', key: deployment.key, form: `domain=${domain}` });

/** Creates websites as fast as responses arrive, until a request fails. Resolves with the status that ended each writer. */
function writeUntilFailure(service: RunningService, name: string, acknowledged: string[]): Promise<number[]> {
  return Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; ; n++) {
        const domain = `${name}-${writer}-${n}.example`;
        const { status } = await create(service, domain);
        if (status !== 201) return status;
        acknowledged.push(domain);
      }
    }),
  );
}

async function listDomains(service: RunningService): Promise<Set<string>> {
  const domains = new Set<string>();
  for (let page = 1; ; page++) {
    const { body } = await service.api.get(`/api/v1/websites?per_page=100&page=${page}`);
    for (const { domain } of body.data) domains.add(domain);
    if (page >= body.meta.last_page) return domains;
  }
}

guarantee(
  8,
  `The embedded database loses no acknowledged write in ${kills} kills during writes; a second process does not start; a full disk is reported clearly`,
  async () => {
    const acknowledged: string[] = [];
    for (let round = 1; round <= kills; round++) {
      const service = await serve();
      const before = acknowledged.length;
      const writing = writeUntilFailure(service, `kill-${round}`, acknowledged);
      await expect.poll(() => acknowledged.length, { timeout: 30_000, interval: 5 }).toBeGreaterThan(before);
      await delay(Math.random() * 200); // The moment is random, so that the kills interrupt different steps of a write.
      await kill(service);
      expect(await writing).toEqual(Array(writers).fill(0)); // Only the kill has ended the writers.
    }
    const service = await serve();
    const findLost = async (running: RunningService) => {
      const stored = await listDomains(running);
      return acknowledged.filter((domain) => !stored.has(domain));
    };
    expect(await findLost(service)).toEqual([]);

    const second = deployment.start({}, ['serve']);
    expect(await second.ended).toBe(1);
    expect(second.printed()).toMatch(/^Cannot start\. The data directory .* is in use by another process\.[^\n]*\n$/);

    const before = service.printed().length;
    execFileSync('prlimit', ['--pid', String(service.child.pid), '--fsize=1000000:unlimited']);
    const response = await create(service, 'no-space.example');
    expect([response.status, response.contentType]).toEqual([503, 'application/problem+json']);
    expect(await service.ended).toBe(1);
    const lines = service.printed().slice(before).split('\n');
    const [fatal = ''] = lines.filter((line) => line.includes('"level":60'));
    expect(fatal).toMatch(
      /The embedded database in .* \(DATA_DIR\) has crashed: could not write .*File too large\. If the disk is full, free some space\. Then start the service again\./,
    );

    const restarted = await serve();
    expect(await findLost(restarted)).toEqual([]);
    expect((await create(restarted, 'space.example')).status).toBe(201);
    return `${acknowledged.length} acknowledged writes over ${kills} kills, 0 lost; second process rejected; full disk: 503, exit 1, one log line, starts again`;
  },
  400_000,
);
