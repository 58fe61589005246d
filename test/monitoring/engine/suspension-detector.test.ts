import { expect, onTestFinished, test, vi } from 'vitest';
import { SuspensionDetector } from '../../../src/monitoring/engine/suspension-detector.ts';

/** Reads the detector twice, acknowledges, and reads it again. */
function readings(detector: SuspensionDetector): boolean[] {
  const [first, second] = [detector.wasSuspended(), detector.wasSuspended()];
  detector.acknowledge();
  return [first, second, detector.wasSuspended()];
}

function startDetector(onResume?: () => void): SuspensionDetector {
  const detector = new SuspensionDetector(onResume);
  onTestFinished(() => detector.stop());
  return detector;
}

test('reports nothing while the clocks advance normally', () => {
  expect(readings(startDetector())).toEqual([false, false, false]);
});

test.each([
  ['wall', Date],
  ['monotonic', performance],
])('reports a jump of the %s clock until it is acknowledged', (_, clock) => {
  const detector = startDetector();
  const spy = vi.spyOn(clock, 'now').mockReturnValue(clock.now() + 6000);
  onTestFinished(() => spy.mockRestore());
  expect(readings(detector)).toEqual([true, true, false]);
  expect(detector.resumedAtMs()).toBeGreaterThan(0);
});

test('calls back without being asked', async () => {
  const onResume = vi.fn();
  startDetector(onResume);
  const spy = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 6000);
  onTestFinished(() => spy.mockRestore());
  await expect.poll(() => onResume.mock.calls.length, { timeout: 10_000 }).toBe(1);
});
