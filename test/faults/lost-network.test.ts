// The service in a network namespace of its own, whose network or name servers fail.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { collectOutput } from '../support/process.ts';

const namespaces = ['-rnm', '--kill-child'];
/** Whether this machine allows creating namespaces, and can ping in them. */
const isAllowed = spawnSync('unshare', [...namespaces, 'sh', '-c', 'ip link set lo up && fping -c 1 127.0.0.1']).status === 0;

async function runScenario(name: string) {
  const script = join(import.meta.dirname, 'support/lost-network.ts');
  const scenario = collectOutput(spawn('unshare', [...namespaces, process.execPath, '--no-warnings', script, name]));
  await scenario.ended;
  const [result] = /^\{.*\}$/m.exec(scenario.printed()) ?? [];
  if (result === undefined) throw new Error(`The scenario failed:\n${scenario.printed()}`);
  return JSON.parse(result);
}

describe.runIf(isAllowed)('in a network namespace', () => {
  // They take long, because they wait for timeouts, and cost little. So they run at the same time.
  let scenarios: Record<'uplink' | 'names', Promise<ReturnType<typeof runScenario>>>;
  beforeAll(() => {
    scenarios = { uplink: runScenario('uplink'), names: runScenario('names') };
    for (const scenario of Object.values(scenarios)) scenario.catch(() => {}); // The test that waits for it gets the error.
  });

  test('while this machine has no network, although its DNS server answers, no monitor goes down, and each says that it is not checked', async () => {
    const { errors, errorsAfterwards, statuses, incidents } = await scenarios.uplink;
    const notChecked = expect.stringMatching(/^not checked since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: no network here$/);
    expect(errors).toEqual(Array(5).fill(notChecked));
    expect([errorsAfterwards, statuses, incidents]).toEqual([Array(5).fill(null), ['up'], []]);
  }, 300_000);

  test('a monitor whose name servers fail, refuse or are silent goes down with that cause while other names resolve, and so does a ping monitor without a ping program', async () => {
    const { states, incidents } = await scenarios.names;
    expect(states).toEqual([
      ['10.9.0.6', 'down', 'this service cannot ping: neither fping nor ping works here'],
      ['http://fails.example/', 'down', 'DNS lookup failed: the DNS server reported an error'],
      ['http://refused.example/', 'down', 'DNS lookup failed: the DNS server refused to answer'],
      ['http://silent.example/', 'down', 'DNS lookup failed: no response'],
      ['http://works.example/', 'up', null],
    ]);
    expect(incidents).toBe(4);
  }, 300_000);
});
