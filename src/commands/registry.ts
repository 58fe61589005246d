import { backupCommand } from './backup.ts';
import type { Command } from './command.ts';
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from './keys.ts';
import { rotateSecretsCommand, secretsStatusCommand } from './secrets.ts';
import {
  addUserCommand,
  deleteUserCommand,
  findUserCommand,
  listUsersCommand,
  resumeUserCommand,
  setPasswordCommand,
  suspendUserCommand,
} from './users.ts';

/** Every operator command, by its words on the command line, which has no words for `user find`. The command line validates the input. */
export const commands = {
  backup: backupCommand,
  'user add': addUserCommand,
  'user find': findUserCommand,
  'user list': listUsersCommand,
  'user password': setPasswordCommand,
  'user suspend': suspendUserCommand,
  'user resume': resumeUserCommand,
  'user delete': deleteUserCommand,
  'key create': createKeyCommand,
  'key list': listKeysCommand,
  'key revoke': revokeKeyCommand,
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
