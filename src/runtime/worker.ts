import { type Config, ConfigError, forgetOwnerLogin } from '../config/config.ts';
import { databaseReadiness } from '../db/database.ts';
import { startEngine } from '../monitoring/engine/start-engine.ts';
import { createLog } from '../telemetry/log.ts';
import { openDatabase } from './open-database.ts';
import { onShutdown } from './shutdown.ts';
import { limitNewObjects, releaseStartupMemory } from './startup-memory.ts';
import { startTelemetry } from './telemetry.ts';

/** Runs only the engine, next to processes that serve requests. */
export async function runWorker(initial: Config): Promise<void> {
  const log = createLog(initial, 'worker');
  if (!initial.databaseUrl)
    throw new ConfigError('DATABASE_URL: is required by the worker command, because only one process can use the embedded database');
  const { database, secretKeys } = await openDatabase(initial, log);
  const config = forgetOwnerLogin(initial);
  let engine: Awaited<ReturnType<typeof startEngine>> | undefined;
  const checkReadiness = async () => (await databaseReadiness(database)) ?? (engine ? engine.stalled() : 'the engine is starting');
  const telemetry = await startTelemetry('worker', config, database, log, checkReadiness);
  const { metrics, tracer } = telemetry;
  engine = await startEngine({ config, database, secretKeys, log, metrics, tracer });
  log.info('Engine started');
  onShutdown(async (reason) => {
    log.info(`${reason}: releasing unfinished work, then shutting down`);
    telemetry.drain();
    await engine?.stop();
    await Promise.all([telemetry.close(), database.close()]);
  }, log);
  limitNewObjects();
  releaseStartupMemory(log);
}
