// The command line. Each command loads its code when it runs, so that small commands start fast.
import { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { ConfigError } from '../config/config.ts';
import { OperatorError, ProblemError, UsageError } from '../errors.ts';
import { addBackupCommand } from './backup.ts';
import { addKeyCommands } from './key.ts';
import { addMigrateCommand } from './migrate.ts';
import { addMockCommand } from './mock.ts';
import { addMoveCommand } from './move.ts';
import { addSecretsCommands } from './secrets.ts';
import { addServeCommands } from './serve.ts';
import { addUserCommands } from './user.ts';

const program = new Command('sitekeeper')
  .description('Website registry and monitoring: one service with two HTTP APIs. Settings are environment variables.')
  .version(packageJson.version);

addServeCommands(program);
addMigrateCommand(program);
addBackupCommand(program);
addMoveCommand(program);
addMockCommand(program);
addUserCommands(program);
addKeyCommands(program);
addSecretsCommands(program);

// Commander would treat an unknown command as an argument of the default command.
const [, , first = ''] = process.argv;
if (/^[a-z]/.test(first) && !['help', ...program.commands.map((command) => command.name())].includes(first)) {
  program.error(`error: unknown command "${first}". Run "sitekeeper --help" for a list of commands.`);
}

try {
  await program.parseAsync();
} catch (error) {
  console.error(describeError(error));
  process.exit(1);
}

/** One line, or one for each invalid setting. */
function describeError(error: unknown): string {
  // A name with several addresses causes one error per address.
  if (error instanceof AggregateError && error.message === '') return describeError(error.errors[0]);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) return `error: ${message}`;
  if (error instanceof ConfigError)
    return message.includes('\n') ? `Invalid configuration:\n${message}` : `Invalid configuration. ${message}`;
  if (error instanceof OperatorError || error instanceof ProblemError) return message;
  const startsService = first === '' || first.startsWith('-') || ['serve', 'worker', 'mock'].includes(first);
  return startsService ? `Cannot start. ${message}` : message;
}
