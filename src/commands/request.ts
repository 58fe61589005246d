import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import type { CommandName } from './registry.ts';

/** What the command line sends to a service that runs a command for it. */
export interface CommandRequest {
  /** The version of the command line. Another version may mean something else by the same input. */
  version: string;
  command: CommandName;
  input: unknown;
}

export const { version: ownVersion } = packageJson;

/** Returns the path of the socket. Only the user of the service, and root, can enter the data directory. */
export function commandSocketIn(dataDirectory: string): string {
  return join(dataDirectory, 'commands.sock');
}
