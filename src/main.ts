// The command line: serve (the default), migrate, key generate.
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

/** One line that says what is wrong; a stack only where the fault may be ours. */
function reason(error: unknown): string {
  return String(error instanceof Error ? error.message : error);
}
