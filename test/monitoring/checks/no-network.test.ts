import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// Runs in a network namespace that has only a loopback interface, if this machine allows creating one.
const runWithoutNetwork = (command: string) =>
  spawnSync('unshare', ['-rn', 'sh', '-c', `ip link set lo up && ${command}`], { encoding: 'utf8' });

test.for(['fping', 'ping'])('without a network no check gets a reply, except from this machine (%s)', (program, { skip }) => {
  skip(runWithoutNetwork(`${program} -c 1 127.0.0.1`).status !== 0);
  const { stdout, stderr } = runWithoutNetwork(
    `${process.execPath} ${join(import.meta.dirname, '../../support/check-without-network.ts')} ${program}`,
  );
  expect([stdout.trim().split('\n'), stderr]).toEqual([
    [
      'http://93.184.215.14/ no reply: no route to the host',
      'http://[2606:2800:21f:cb07::1]/ no reply: no route to the host',
      '127.0.0.1 up',
      '93.184.215.14 no reply: no route to the host',
      '2606:2800:21f:cb07::1 no reply: no route to the host',
    ],
    '',
  ]);
});
