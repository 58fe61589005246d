import type { Command } from 'commander';
import { UsageError } from '../errors.ts';

export function addMockCommand(program: Command) {
  program
    .command('mock')
    .description('serve both APIs from the examples of the contract, without a database')
    .option('--port <port>', 'port to listen on', '4010')
    .action(async ({ port }: { port: string }) => {
      const number = parsePort(port);
      await (await import('../runtime/mock.ts')).runMock(number);
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new UsageError('--port: must be a whole number from 0 to 65535');
  return port;
}
