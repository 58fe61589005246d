import { setTimeout as delay } from 'node:timers/promises';
import type { CommandName, InputOf, OutputOf } from '../commands/registry.ts';
import { type CommandRequest, commandSocketIn, ownVersion } from '../commands/request.ts';
import { type Config, readConfig } from '../config/config.ts';
import { DirectoryInUse } from '../db/data-directory.ts';
import { OperatorError } from '../errors.ts';
import { isListening, sendCommand } from '../net/command-socket.ts';

/** Runs an operator command, here or in the running service. */
export type RunCommand = <Name extends CommandName>(name: Name, input: InputOf<Name>) => Promise<OutputOf<Name>>;

/** How long a command waits for a service that is starting, or for another command. */
const waitMs = 60_000;
const retryMs = 200;

/**
 * Calls `work` with a function that runs operator commands. Only one process can use the embedded database, so if the service uses
 * it, the commands run there.
 */
export async function withCommands(work: (run: RunCommand) => Promise<void>): Promise<void> {
  const config = readConfig();
  const { run, close } = config.databaseUrl ? await (await loadHere(config))() : await runHereOrInService(config);
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
  await withCommands(async (run) => print(await run(name, input)));
}

interface Runner {
  run: RunCommand;
  close(): Promise<void>;
}
type OpenRunner = () => Promise<Runner>;

async function runHereOrInService(config: Config): Promise<Runner> {
  const path = commandSocketIn(config.dataDirectory);
  let runHere: OpenRunner | undefined;
  let isWaiting = false;
  for (const deadline = performance.now() + waitMs; ; await delay(retryMs)) {
    const listening = await isListening(path);
    if (listening === 'yes') return { run: runInService(path), close: async () => {} };
    runHere ??= await loadHere(config);
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
async function loadHere(config: Config): Promise<OpenRunner> {
  const [{ openDatabase }, { createLog }, { commands }] = await Promise.all([
    import('../runtime/open-database.ts'),
    import('../telemetry/log.ts'),
    import('../commands/registry.ts'),
  ]);
  const log = createLog({ logLevel: 'warn' }, 'command');
  const { signal } = new AbortController();
  return async () => {
    const { database, secretKeys } = await openDatabase(config, log);
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

function noService(directory: string): string {
  return `The data directory ${directory} is in use by a process that accepts no commands: another command, or a service that is starting, is of an older version, or has logged why it could not create ${commandSocketIn(directory)}. Stop that process, or try again later.`;
}
