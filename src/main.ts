// The command line: serve (the default), migrate, mock, key generate.
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { generateKey } from './access/api-key.ts';
import { BadSetting, readConfig } from './config.ts';
import { migrateOnly, serve } from './serve.ts';

const program = new Command('sitekeeper')
  .description('Website registry and monitoring, one service with two HTTP APIs. Settings are environment variables.')
  .version(packageJson.version);

program
  .command('serve', { isDefault: true })
  .description('run the service: migrate, listen, answer (the default)')
  .action(() => serve(readConfig(process.env)));

program
  .command('migrate')
  .description('bring the database to this version and stop')
  .action(() => migrateOnly(readConfig(process.env)));

program
  .command('mock')
  .description('answer both APIs from the examples of the contract, without a database')
  .option('--port <port>', 'port to listen on', '4010')
  // Loaded only here: it is large, and serving does not need it.
  .action(async ({ port }: { port: string }) => (await import('./mock.ts')).mock(readPort(port)));

program
  .command('key')
  .description('API keys')
  .command('generate')
  .description('print a new well-formed key, for OWNER_API_KEY; nothing is stored')
  .action(() => console.log(generateKey()));

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof BadSetting ? `Bad setting. ${error.message}` : `Cannot start. ${reason(error)}`);
  process.exit(1);
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new BadSetting('--port: must be a whole number from 0 to 65535');
  return port;
}

/** One line that says what is wrong; a stack only where the fault may be ours. */
function reason(error: unknown): string {
  return String(error instanceof Error ? error.message : error);
}
