import { setTimeout as delay } from 'node:timers/promises';
import type { CommandName, InputOf, OutputOf } from '../commands/registry.ts';
import { type CommandRequest, commandSocketIn, ownVersion } from '../commands/request.ts';
import { type Config, readConfig } from '../config/config.ts';
import { DirectoryInUse } from '../db/data-directory.ts';
import { DirectoryError } from '../db/directory-error.ts';
import { OperatorError } from '../errors.ts';
import { isListening, sendCommand } from '../net/command-socket.ts';

/** Runs an operator command, here or in the running service. */
export type RunCommand = <Name extends CommandName>(name: Name, input: InputOf<Name>) => Promise<OutputOf<Name>>;

/** How long a command waits for a service that is starting, or for another command. */
const waitMs = 60_000;
const retryMs = 200;

interface CommandOptions {
  /** Whether an embedded database must exist. Otherwise a wrong DATA_DIR would go unnoticed: a new, empty database would be used. */
  mustExist: boolean;
}

/**
 * Calls `work` with a function that runs operator commands. Only one process can use the embedded database, so if the service uses
 * it, the commands run there.
 */
export async function withCommands(work: (run: RunCommand) => Promise<void>, options: CommandOptions = { mustExist: true }): Promise<void> {
  const config = readConfig();
  const { run, close } = config.databaseUrl ? await (await loadHere(config, options))() : await runHereOrInService(config, options);
  try {
    await work(run);
  } finally {
    await close();
  }
}

/** Runs one operator command. */
export async function runCommand<Name extends CommandName>(
  name: Name,
  input: InputOf<Name>,
  print: (output: OutputOf<Name>) => void,
): Promise<void> {
  await withCommands(async (run) => print(await run(name, input)), { mustExist: name !== 'user add' });
}

interface Runner {
  run: RunCommand;
  close(): Promise<void>;
}
type OpenRunner = () => Promise<Runner>;

async function runHereOrInService(config: Config, options: CommandOptions): Promise<Runner> {
  const path = commandSocketIn(config.dataDirectory);
  let runHere: OpenRunner | undefined;
  let isWaiting = false;
  for (const deadline = performance.now() + waitMs; ; await delay(retryMs)) {
    const listening = await isListening(path).catch((error: unknown) => {
      throw explainSocketError(config.dataDirectory, error);
    });
    if (listening === 'yes') return { run: runInService(path), close: async () => {} };
    runHere ??= await loadHere(config, options);
    try {
      return await runHere();
    } catch (error) {
      if (!(error instanceof DirectoryInUse)) throw error;
      if (listening === 'never' || performance.now() > deadline) throw new OperatorError(noService(config.dataDirectory));
      if (!isWaiting) printProgress(`Waiting for the process that uses ${config.dataDirectory}.`);
      isWaiting = true;
    }
  }
}

function runInService(path: string): RunCommand {
  return (command, input) => {
    const request: CommandRequest = { version: ownVersion, command, input };
    return sendCommand(path, request, printProgress) as Promise<never>;
  };
}

/** Returns a function that opens the database. Its code is loaded only if no service runs the commands. */
async function loadHere(config: Config, options: CommandOptions): Promise<OpenRunner> {
  const [{ openDatabase }, { createLog }, { commands }] = await Promise.all([
    import('../runtime/open-database.ts'),
    import('../telemetry/log.ts'),
    import('../commands/registry.ts'),
  ]);
  const log = createLog({ logLevel: 'warn' }, 'command');
  const { signal } = new AbortController();
  return async () => {
    const { database, secretKeys } = await openDatabase(config, log, options);
    const context = { database, secretKeys, config, inService: false, progress: printProgress, signal };
    return {
      run: (name, input) => commands[name](context, input as never) as Promise<never>,
      close: () => database.close(),
    };
  };
}

/** Standard output has only the result. */
function printProgress(line: string): void {
  console.error(line);
}

/** Another user than that of the service may not even look into the data directory. */
function explainSocketError(directory: string, error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code !== 'EACCES' && code !== 'EPERM') return error;
  const advice = 'Run the command as the user of the service, or as root while the service is running.';
  return new DirectoryError(directory, 'you may not access', advice, { cause: error });
}

function noService(directory: string): string {
  return `The data directory ${directory} is in use by a process that accepts no commands: another command, or a service that is starting, is of an older version, or has logged why it could not create ${commandSocketIn(directory)}. Stop that process, or try again later.`;
}
