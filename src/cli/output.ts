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

/** The columns of a list: the title of each, and how a row is shown in it. */
export type Columns<Row> = Record<string, (row: Row) => string | number>;

/**
 * Prints rows page by page, so that a long list needs little memory: as one JSON array, or in columns that are as wide as the
 * first page needs. `nextPage` returns the rows after an id.
 */
export async function printPages<Row extends { id: number }>(
  { json }: OutputOptions,
  columns: Columns<Row>,
  nextPage: (after: number) => Promise<Row[]>,
): Promise<void> {
  // A reader such as head closes the pipe when it has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  let widths: number[] | undefined;
  let printed = 0;
  for (let rows = await nextPage(0); rows.length > 0; rows = await nextPage(rows.at(-1)?.id ?? 0)) {
    if (json) {
      console.log(rows.map((row, index) => `${printed + index === 0 ? '[' : ','}${JSON.stringify(row)}`).join('\n'));
    } else {
      const cells = rows.map((row) => Object.values(columns).map((cell) => printable(cell(row))));
      const table = printed === 0 ? [Object.keys(columns), ...cells] : cells;
      widths ??= Object.keys(columns).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
      console.log(
        table
          .map((row) =>
            row
              .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
              .join('  ')
              .trimEnd(),
          )
          .join('\n'),
      );
    }
    printed += rows.length;
  }
  if (json) console.log(printed === 0 ? '[]' : ']');
  else if (printed === 0) console.log(Object.keys(columns).join('  '));
}

/** Shows a time in UTC, to the minute. */
export function toMinute(time: string | null): string {
  return time === null ? '-' : time.slice(0, 16).replace('T', ' ');
}

/** Users choose some of the texts. Control characters could change what the terminal shows. */
function printable(cell: string | number): string {
  return String(cell).replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, '?');
}
