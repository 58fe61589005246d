import type { Config } from '../config/config.ts';
import type { Database } from '../db/database.ts';

/** What an operator command works with, in a process of its own or in the running service. */
export interface CommandContext {
  database: Database;
  /** The keys that encrypt secrets, the newest first. */
  secretKeys: Buffer[];
  config: Pick<Config, 'dataDirectory' | 'secretKeys'>;
  /** Whether the command runs in the service, because that uses the embedded database. */
  inService: boolean;
  /** Prints a line while the command runs. */
  progress(line: string): void;
  /** Aborted when nobody waits for the command any more. A command that takes long should then stop. */
  signal: AbortSignal;
}

/**
 * An operator command. Input and output are plain JSON, because the running service may execute it for another process. It throws
 * UsageError for invalid input, and OperatorError if it cannot succeed.
 */
export type Command<Input, Output> = (context: CommandContext, input: Input) => Promise<Output>;
