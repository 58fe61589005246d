import type { Logger } from 'pino';
import type { CommandContext } from '../commands/command.ts';
import { commands, isCommandName } from '../commands/registry.ts';
import { type CommandRequest, commandSocketIn, ownVersion } from '../commands/request.ts';
import type { Config } from '../config/config.ts';
import { OperatorError } from '../errors.ts';
import { isPathTooLong, type RequestHandler, serveCommands } from '../net/command-socket.ts';

/**
 * Runs operator commands for other processes, which cannot open the embedded database while the service uses it. If the socket
 * cannot be created, the service runs without it.
 */
export async function startCommandService(
  { database, secretKeys }: Pick<CommandContext, 'database' | 'secretKeys'>,
  config: Config,
  log: Logger,
): Promise<{ close(): Promise<void> }> {
  const path = commandSocketIn(config.dataDirectory);
  const handle: RequestHandler = async (request, connection) => {
    const { command, input } = parseRequest(request);
    log.info({ command }, 'Running an operator command'); // Without its input, which may contain a password.
    // The command line of the same version has validated the input.
    return commands[command]({ database, secretKeys, config, inService: true, ...connection }, input as never);
  };
  try {
    return await serveCommands(path, handle);
  } catch (error) {
    const reason = isPathTooLong(error) ? tooLong : `${(error as Error).message}.`;
    log.warn(`Operator commands cannot reach this service, so stop it before you run one. The socket ${path} cannot be created: ${reason}`);
    return { close: async () => {} };
  }
}

const tooLong = 'its path is longer than a socket allows. Set DATA_DIR to a shorter one, of less than 90 bytes.';

function parseRequest(request: unknown): CommandRequest {
  const { version, command, input } = (request ?? {}) as Partial<CommandRequest>;
  const advice = 'Restart the service, or run the command from the installation of the service.';
  if (version !== ownVersion)
    throw new OperatorError(`The running service has the version ${ownVersion}, this command has ${version}. ${advice}`);
  if (!isCommandName(command)) throw new OperatorError(`The running service does not know the command "${command}". ${advice}`);
  return { version, command, input };
}
