// The command line. Each command loads what it needs, so that the small ones answer at once.
import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { generateKey } from './access/api-key.ts';
import { BadSetting, CannotDo, readConfig } from './config.ts';

const program = new Command('sitekeeper')
  .description('Website registry and monitoring, one service with two HTTP APIs. Settings are environment variables.')
  .version(packageJson.version);

program
  .command('serve', { isDefault: true })
  .description('run the service: migrate, listen, answer, check (the default)')
  .option('--no-engine', 'only answer; checks and alerts are the work of other processes')
  .option('--workers <count>', 'processes that share the port, or max: as many as there are cores', '1')
  .action(async ({ engine, workers }: { engine: boolean; workers: string }) => {
    const config = settings();
    const count = readWorkers(workers);
    if (count > 1 && cluster.isPrimary) await (await import('./cluster.ts')).serveInWorkers(config, count);
    else await (await import('./serve.ts')).serve(config, { withEngine: engine });
  });

program
  .command('worker')
  .description('run only the engine: checks, incidents, alerts')
  .action(async () => {
    const config = settings();
    await (await import('./serve.ts')).work(config);
  });

program
  .command('migrate')
  .description('bring the database to this version and stop')
  .option('--plan', 'only say what would run')
  .action(async ({ plan }: { plan?: true }) => {
    const { migrate, planMigration } = await import('./operate.ts');
    await (plan ? planMigration : migrate)(settings());
  });

program
  .command('mock')
  .description('answer both APIs from the examples of the contract, without a database')
  .option('--port <port>', 'port to listen on', '4010')
  .action(async ({ port }: { port: string }) => (await import('./mock/mock.ts')).mock(readPort(port)));

const user = program.command('user').description('user accounts');
user
  .command('add <email>')
  .description('add an account; the password is asked for, or read from standard input')
  .action(async (email: string) => (await import('./operate.ts')).addUser(settings(), email));
user
  .command('password <email>')
  .description('set a new password and end every session; it is asked for, or read from standard input')
  .action(async (email: string) => (await import('./operate.ts')).changeUserPassword(settings(), email));
user
  .command('delete <email>')
  .description('delete an account with all of its data')
  .action(async (email: string) => (await import('./operate.ts')).removeUser(settings(), email));

const key = program.command('key').description('API keys');
key
  .command('generate')
  .description('print a new well-formed key, for OWNER_API_KEY; nothing is stored')
  .action(() => console.log(generateKey()));
key
  .command('create')
  .description('make a key for a user and print it')
  .requiredOption('--user <email>', 'whose key it is')
  .requiredOption('--name <name>', 'what it is for')
  .requiredOption('--scopes <scopes>', 'what it may do: scopes separated by commas, or all')
  .option('--expires <time>', 'when it stops working, such as 2030-01-31T00:00:00Z')
  .action(async (wanted: { user: string; name: string; scopes: string; expires?: string }) =>
    (await import('./operate.ts')).addKey(settings(), wanted),
  );

// Commander would take it for an argument of the default command.
const [, , first = ''] = process.argv;
if (/^[a-z]/.test(first) && !['help', ...program.commands.map((command) => command.name())].includes(first)) {
  program.error(`error: unknown command "${first}". "sitekeeper --help" lists those that there are.`);
}

try {
  await program.parseAsync();
} catch (error) {
  console.error(describe(error));
  process.exit(1);
}

function settings() {
  return readConfig(process.env);
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new BadSetting('--port: must be a whole number from 0 to 65535');
  return port;
}

function readWorkers(text: string): number {
  if (text === 'max') return availableParallelism();
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new BadSetting('--workers: must be a whole number from 1 to 999, or max');
  return Number(text);
}

/** One line that says what is wrong. */
function describe(error: unknown): string {
  // Where a name has several addresses, there is an error for each.
  if (error instanceof AggregateError && error.message === '') return describe(error.errors[0]);
  const { message, code = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  if (error instanceof BadSetting) return `Bad setting. ${message}`;
  if (/^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENET)/.test(code))
    return `Cannot start. The database (DATABASE_URL, MIGRATE_DATABASE_URL) cannot be reached: ${message}.`;
  return error instanceof CannotDo ? message : `Cannot start. ${message}`;
}
