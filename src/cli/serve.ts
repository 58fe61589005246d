import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { UsageError } from '../errors.ts';

export function addServeCommands(program: Command) {
  program
    .command('serve', { isDefault: true })
    .description('run the service: migrate, serve requests, run checks (the default command)')
    .option('--no-engine', 'serve requests only; other processes run checks and send alerts')
    .option('--workers <count>', 'number of processes that share the port, or max for one per core', '1')
    .action(async ({ engine, workers }: { engine: boolean; workers: string }) => {
      const config = readConfig();
      const count = parseWorkers(workers);
      if (count > 1 && cluster.isPrimary) await (await import('../runtime/cluster.ts')).serveInWorkers(config, count);
      else await (await import('../runtime/serve.ts')).serve(config, { withEngine: engine });
    });

  program
    .command('worker')
    .description('run only the engine: checks, incidents, alerts')
    .action(async () => {
      const config = readConfig();
      await (await import('../runtime/worker.ts')).runWorker(config);
    });
}

function parseWorkers(text: string): number {
  if (text === 'max') return availableParallelism();
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new UsageError('--workers: must be a whole number from 1 to 999, or max');
  return Number(text);
}
