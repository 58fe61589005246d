import type { Command } from 'commander';
import { OperatorError, UsageError } from '../errors.ts';

export function addMockCommand(program: Command) {
  program
    .command('mock')
    .description('serve both APIs from the examples of the contract, without a database')
    .option('--port <port>', 'port to listen on', '4010')
    .action(async ({ port }: { port: string }) => {
      const number = parsePort(port);
      const { runMock } = await import('../runtime/mock.ts').catch(explainMissingPackage);
      await runMock(number);
    });
}

/** Installations for operators leave out Prism, which only the mock needs: it would add 115 packages to the service. */
function explainMissingPackage(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes("'@stoplight/prism-http'")) throw error;
  throw new OperatorError(
    'The mock needs the package @stoplight/prism-http, which is not part of this installation. Run the mock in a checkout after "npm ci", or from the package with npx: docs/mock.md has the commands.',
  );
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new UsageError('--port: must be a whole number from 0 to 65535');
  return port;
}
