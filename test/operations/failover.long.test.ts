// The primary of a PostgreSQL cluster is killed five times under load, and frozen once.
import { afterAll, beforeAll, describe, test } from 'vitest';
import { FailoverTrial } from './support/failover.ts';
import { findMissingPrograms } from './support/patroni.ts';

const missing = findMissingPrograms().join(', ');
if (missing) console.warn(`Failovers are not tested, because that requires ${missing}.`);

describe.skipIf(missing).each(['haproxy', 'hosts'] as const)('two serving processes and two workers on a cluster (%s)', (route) => {
  let trial: FailoverTrial;

  beforeAll(async () => {
    trial = await FailoverTrial.create([route, route]);
  }, 240_000);
  afterAll(() => trial?.remove());

  test.for(['kill', 'kill', 'freeze', 'kill', 'kill', 'kill'] as const)('%s the primary', { timeout: 300_000 }, async (how) => {
    console.log(await trial.failOver(how));
  });

  test('no acknowledged write and no alert is lost', { timeout: 300_000 }, async () => {
    console.log(await trial.verify());
  });
});
