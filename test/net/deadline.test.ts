import { expect, onTestFinished, test } from 'vitest';
import { Deadline } from '../../src/net/deadline.ts';
import { startTestClock } from '../support/test-clock.ts';

test.each([
  ['dns', 'unreachable', 'timed out after 2 s waiting for DNS'],
  ['connect', 'unreachable', 'timed out after 2 s while connecting'],
  ['tls', 'timeout', 'timed out after 2 s during the TLS handshake'],
  ['response', 'timeout', 'timed out after 2 s waiting for the response'],
  ['body', 'timeout', 'timed out after 2 s while reading the body'],
] as const)('a step in the phase %s is interrupted, also one that begins after the timeout', async (phase, kind, message) => {
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  const deadline = new Deadline(2000);
  const limit = () => deadline.limit(new Promise(() => {}), () => phase);
  const running = limit();
  clock.advance(2000);
  await expect(running).rejects.toMatchObject({ kind, message });
  await expect(limit()).rejects.toMatchObject({ kind, message });
});
