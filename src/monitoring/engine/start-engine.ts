import type { Logger } from 'pino';
import { Vault } from '../../access/vault.ts';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import type { Metrics } from '../../metrics.ts';
import { parseRanges } from '../../net/addresses.ts';
import type { Net } from '../../net/resolve.ts';
import type { Tracer } from '../../trace.ts';
import { Dispatcher } from '../alerts/dispatcher.ts';
import { createChannels } from '../channels/channels.ts';
import { Engine } from './engine.ts';
import { findPing } from './ping-programs.ts';
import { Pinger } from './probe-ping.ts';

interface Parts {
  config: Pick<Config, 'netAllow' | 'delivery' | 'retentionDays'>;
  database: Database;
  secretKeys: Buffer[];
  log: Logger;
  metrics: Metrics;
  tracer?: Tracer | undefined;
  /** Instead of the one that the settings describe. */
  net?: Net;
}

/** Checks and alerts, until it is stopped. */
export function startEngine({ config, database, secretKeys, log, metrics, tracer, net = { allow: parseRanges(config.netAllow) } }: Parts) {
  const ping = findPing().then((found) => {
    if (!found) log.warn('Neither fping nor ping may be used on this machine: ping monitors are not checked');
    return found;
  });
  const engine = new Engine({ database, net, pinger: new Pinger(ping), log, metrics, tracer });
  const dispatcher = new Dispatcher({
    database,
    channels: createChannels(config.delivery, net),
    vault: new Vault(secretKeys),
    log,
    metrics,
    tracer,
  });
  engine.start();
  dispatcher.start();
  const stopForgetting = forgetOldRegularly(database, config.retentionDays, log);
  return {
    async stop() {
      stopForgetting();
      for (const stopped of await Promise.allSettled([engine.stop(), dispatcher.stop()])) {
        if (stopped.status === 'rejected')
          log.warn({ err: stopped.reason }, 'What is not finished could not be given back; its lease runs out');
      }
    },
  };
}

const forgettingMs = 60 * 60 * 1000;
/** The longest window is a year, whatever the operator keeps of the rest. */
const incidentDays = 400;
const batch = 5000;

/** Old statistics, alerts and incidents go in small portions, so that nothing is locked for long. */
function forgetOldRegularly(database: Database, days: number, log: Logger): () => void {
  const portions = [
    [
      `delete from check_hours where (user_id, monitor_id, hour) in
        (select user_id, monitor_id, hour from check_hours where hour < now() - ? * interval '1 day' limit ${batch})`,
      days,
    ],
    [
      `delete from alerts where id in (select id from alerts where status <> 'pending' and done_at < now() - ? * interval '1 day' limit ${batch})`,
      days,
    ],
    [
      `delete from incidents where id in (select id from incidents where resolved_at < now() - ? * interval '1 day' limit ${batch})`,
      Math.max(days, incidentDays),
    ],
  ] as const;
  const forget = async () => {
    try {
      for (const [sql, age] of portions) {
        let deleted = batch;
        while (deleted === batch) {
          const { affectedRows } = await database.asEngine((em) => em.execute<{ affectedRows: number }>(sql, [age], 'run'));
          deleted = affectedRows;
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'Forgetting what is old failed; it is tried again later');
    }
  };
  const timer = setInterval(() => void forget(), forgettingMs);
  void forget();
  return () => clearInterval(timer);
}
