// The primary of a PostgreSQL cluster is killed under load. failover.long.test.ts does so more often and in more ways.
import { afterAll, beforeAll, describe, test } from 'vitest';
import { FailoverTrial } from './support/failover.ts';
import { findMissingPrograms } from './support/patroni.ts';

const missing = findMissingPrograms().join(', ');
if (missing && process.env.CI) throw new Error(`The test of a failover requires ${missing}.`);
if (missing) console.warn(`A failover is not tested, because that requires ${missing}.`);

describe.skipIf(missing)('two serving processes and two workers on a cluster, through HAProxy and with several hosts', () => {
  let trial: FailoverTrial;

  beforeAll(async () => {
    trial = await FailoverTrial.create(['haproxy', 'hosts']);
  }, 240_000);
  afterAll(() => trial?.remove());

  test('when the primary is killed, no acknowledged write and no alert is lost, and the service writes again within 5 seconds of the promotion', async () => {
    console.log(await trial.failOver('kill'));
    console.log(await trial.verify());
  }, 300_000);
});
