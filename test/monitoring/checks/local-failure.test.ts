import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { classifyFailure, LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { NetworkError } from '../../../src/net/network-error.ts';

test('a local error is a local failure', () => {
  const result = classifyFailure(new NetworkError('local', 'no route to the network', { cause: 'ENETUNREACH' }));
  expect(result).toBeInstanceOf(LocalFailure);
  expect(result).toMatchObject({ message: 'no route to the network', cause: 'ENETUNREACH' });
});

test('an error of the target is a failure of the monitor', () => {
  expect(classifyFailure(new NetworkError('refused', 'connection refused'))).toEqual({
    up: false,
    cause: 'connection refused',
    statusCode: null,
  });
});

test('an address that is not allowed is a failure of the monitor, with the same cause for every address', () => {
  expect(classifyFailure(new NetworkError('address_not_allowed', '127.0.0.1 is not allowed'))).toEqual({
    up: false,
    cause: 'address_not_allowed',
    statusCode: null,
  });
});

test('an error that does not come from the network is thrown again', () => {
  const bug = new TypeError('x is not a function');
  expect(() => classifyFailure(bug)).toThrow(bug);
});

// Runs in a network namespace that has only a loopback interface, if this machine allows creating one.
const runWithoutNetwork = (command: string) =>
  spawnSync('unshare', ['-rn', 'sh', '-c', `ip link set lo up && ${command}`], { encoding: 'utf8' });
const usablePrograms = ['fping', 'ping'].filter((program) => runWithoutNetwork(`${program} -c 1 127.0.0.1`).status === 0);

test.runIf(usablePrograms.length > 0).each(usablePrograms)('without a network every check is a local failure (%s)', (program) => {
  const { stdout, stderr } = runWithoutNetwork(
    `${process.execPath} ${join(import.meta.dirname, '../../support/check-without-network.ts')} ${program}`,
  );
  expect([stdout.trim().split('\n'), stderr]).toEqual([
    [
      'http://93.184.215.14/ local failure',
      'http://[2606:2800:21f:cb07::1]/ local failure',
      '127.0.0.1 up',
      '93.184.215.14 local failure',
      '2606:2800:21f:cb07::1 local failure',
    ],
    '',
  ]);
});
