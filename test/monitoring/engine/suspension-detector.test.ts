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
])('reports a jump of the %s clock by more than 5 seconds, until it is acknowledged', (_, clock) => {
  const startMs = Math.floor(clock.now());
  const spy = vi.spyOn(clock, 'now').mockReturnValue(startMs);
  const detector = startDetector();
  spy.mockReturnValue(startMs + 5000);
  expect(detector.wasSuspended()).toBe(false);
  spy.mockReturnValue(startMs + 10_001);
  onTestFinished(() => spy.mockRestore());
  expect(readings(detector)).toEqual([true, true, false]);
});

test('tells when the last suspension ended', () => {
  const spy = vi.spyOn(performance, 'now').mockReturnValue(1000);
  onTestFinished(() => spy.mockRestore());
  const detector = startDetector();
  expect(detector.resumedAtMs()).toBe(0);
  spy.mockReturnValue(9000);
  expect(detector.resumedAtMs()).toBe(9000);
  spy.mockReturnValue(9500);
  expect(detector.resumedAtMs()).toBe(9000);
});

test('has no timer after it was stopped', () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  new SuspensionDetector().stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('calls back without being asked', async () => {
  const onResume = vi.fn();
  startDetector(onResume);
  const spy = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 6000);
  onTestFinished(() => spy.mockRestore());
  await expect.poll(() => onResume.mock.calls.length, { timeout: 10_000 }).toBe(1);
});
