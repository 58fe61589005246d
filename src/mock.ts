import { getHttpOperationsFromSpec } from '@stoplight/prism-http';
import { createServer } from '@stoplight/prism-http-server';
import { type Logger, pino } from 'pino';
import monitoring from '../generated/monitoring.json' with { type: 'json' };
import websites from '../generated/websites.json' with { type: 'json' };

/** Both APIs as their contract describes them, answered from its examples: no database, no account, any key passes. */
export async function mock(port: number): Promise<void> {
  const operations = (await Promise.all([websites, monitoring].map(operationsOf))).flat();
  const server = createServer(operations, {
    cors: true,
    config: {
      isProxy: false,
      mock: { dynamic: false },
      checkSecurity: true,
      validateRequest: true,
      validateResponse: true,
      errors: false,
      upstreamProxy: undefined,
    },
    // Prism calls a level that pino does not have by itself, and its types do not say so.
    components: { logger: pino({ level: 'silent', customLevels: { success: 31 } }) as unknown as Logger },
  });
  const url = await server.listen(port, '127.0.0.1');
  console.log(`The mock of both APIs answers on ${url}. Try it:

    curl -H "Authorization: Bearer any" ${url}/api/v1/websites
    curl -H "Authorization: Bearer any" ${url}/api/monitors/5
    curl -H "Authorization: Bearer any" -H "Prefer: code=404" ${url}/api/monitors/5
`);
  const stop = () => server.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

/** Prism leaves the base path of `servers` out, so it goes in front of each path here. */
async function operationsOf(document: typeof websites | typeof monitoring) {
  const base = new URL(document.servers[0]?.url ?? '').pathname;
  const operations = await getHttpOperationsFromSpec(document);
  return operations.map((operation) => ({ ...operation, path: base + operation.path, servers: [] }));
}
