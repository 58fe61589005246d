import type { Logger } from 'pino';
import { SecretCipher } from '../../auth/secret-cipher.ts';
import type { Config } from '../../config/config.ts';
import { startBatchJobs } from '../../db/batch-jobs.ts';
import type { Database } from '../../db/database.ts';
import { parseRanges } from '../../net/addresses.ts';
import { findPing, Pinger } from '../../net/ping.ts';
import type { Net } from '../../net/resolve.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracer } from '../../telemetry/tracing.ts';
import { Dispatcher } from '../alerts/dispatcher.ts';
import { createChannels } from '../channels/registry.ts';
import { purgeDeletedMonitors } from '../statistics/purge.ts';
import { rollUp } from '../statistics/roll-up.ts';
import { listenForWork } from '../wake.ts';
import { Engine } from './engine.ts';
import { monitoringDeletions } from './retention.ts';

const retentionIntervalMs = 60 * 60 * 1000;
const statisticsIntervalMs = 60 * 1000;

interface StartEngineDeps {
  config: Pick<Config, 'netAllow' | 'connectivityCheck' | 'delivery' | 'retentionDays'>;
  database: Database;
  secretKeys: Buffer[];
  log: Logger;
  metrics: Metrics;
  tracer?: Tracer | undefined;
  /** Overrides the allowed ranges and the name resolution; used by tests. */
  net?: Net;
}

/** Starts everything that runs in the background: checks, alerts, statistics and retention. */
export async function startEngine(deps: StartEngineDeps) {
  const { config, database, secretKeys, log, metrics, tracer, net = { allow: parseRanges(config.netAllow) } } = deps;
  let couldPing = true;
  const pinger = new Pinger(async () => {
    const found = await findPing();
    if (!found && couldPing) log.warn('Neither fping nor ping can be used on this machine: all ping monitors fail');
    couldPing = found !== undefined;
    return found;
  });
  const cipher = new SecretCipher(secretKeys);
  const dispatcher = new Dispatcher({
    database,
    channels: createChannels(config.delivery, net),
    cipher,
    log,
    metrics,
    tracer,
  });
  const engine = new Engine({
    database,
    net,
    pinger,
    cipher,
    connectivityCheck: config.connectivityCheck,
    log,
    metrics,
    tracer,
    onAlerts: () => dispatcher.wake(),
  });
  await listenForWork(database, { engine, dispatcher });
  engine.start();
  dispatcher.start();
  const stopStatistics = startBatchJobs([rollUp(database), purgeDeletedMonitors(database)], { intervalMs: statisticsIntervalMs, log });
  const stopRetention = startBatchJobs(monitoringDeletions(database, config.retentionDays), { intervalMs: retentionIntervalMs, log });
  return {
    /** Returns which loop does not turn any more, or undefined if all do. */
    stalled(): string | undefined {
      if (!engine.isAlive) return 'the loop that runs checks does not turn';
      return dispatcher.isAlive ? undefined : 'the loop that sends alerts does not turn';
    },
    async stop() {
      for (const stopped of await Promise.allSettled([engine.stop(), dispatcher.stop(), stopStatistics(), stopRetention()])) {
        if (stopped.status === 'rejected')
          log.warn({ err: stopped.reason }, 'Unfinished work could not be released; it continues when its leases expire');
      }
    },
  };
}
