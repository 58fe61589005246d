import type { Command } from 'commander';

export interface OutputOptions {
  json?: true;
}

/** Adds the option that all operator commands have. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print the result as JSON');
}

/** Prints the output of a command as JSON, or as text for people. */
export function print<Output>({ json }: OutputOptions, output: Output, toText: (output: Output) => string): void {
  console.log(json ? JSON.stringify(output, null, 2) : toText(output));
}
