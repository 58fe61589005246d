import type { Command } from './command.ts';
import { createKeyCommand } from './keys.ts';
import { rotateSecretsCommand, secretsStatusCommand } from './secrets.ts';
import { addUserCommand, deleteUserCommand, setPasswordCommand } from './users.ts';

/** Every operator command, by its words on the command line. The command line validates the input. */
export const commands = {
  'user add': addUserCommand,
  'user password': setPasswordCommand,
  'user delete': deleteUserCommand,
  'key create': createKeyCommand,
  'secrets status': secretsStatusCommand,
  'secrets rotate': rotateSecretsCommand,
} satisfies Record<string, Command<never, unknown>>;

type Commands = typeof commands;
export type CommandName = keyof Commands;
export type InputOf<Name extends CommandName> = Parameters<Commands[Name]>[1];
export type OutputOf<Name extends CommandName> = Awaited<ReturnType<Commands[Name]>>;

export function isCommandName(name: unknown): name is CommandName {
  return typeof name === 'string' && Object.hasOwn(commands, name);
}
