import { pino } from 'pino';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { startTelemetry } from '../../src/runtime/telemetry.ts';

test.each([
  ['neither a port nor a token is set', {}, false],
  ['a token is set', { METRICS_TOKEN: 'let-me-see-the-metrics' }, true],
  ['a port is set', { METRICS_PORT: '0' }, true],
])('the event loop is measured only if metrics can be read: %s', async (_, settings, isMeasured) => {
  const telemetry = await startTelemetry('worker', readConfig(settings), {} as Database, pino({ level: 'silent' }));
  try {
    expect(telemetry.metrics.registry.getSingleMetric('nodejs_eventloop_lag_p99_seconds') !== undefined).toBe(isMeasured);
  } finally {
    await telemetry.close();
  }
});
