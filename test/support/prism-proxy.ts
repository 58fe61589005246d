import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createInstance, getHttpOperationsFromSpec, type IHttpRequest } from '@stoplight/prism-http';
import { type Logger, pino } from 'pino';
import { bundles } from './contract-operations.ts';

export interface PrismProxy {
  url: string;
  /** Fails where Prism found an answer that breaks the contract. */
  close(): Promise<void>;
}

/**
 * Prism in front of the service: whoever calls it reaches the service, and every answer on the way back is held against
 * the contract, by code that is not ours. Requests are not judged, for bad ones are for the service to refuse. Prism's
 * own server would read JSON first, and it waits for ever when that is broken; so here is another one.
 */
export async function startPrismProxy(upstream: string): Promise<PrismProxy> {
  const prism = createInstance(
    {
      isProxy: true,
      upstream: new URL(upstream),
      upstreamProxy: undefined,
      mock: { dynamic: false },
      checkSecurity: false,
      validateRequest: false,
      validateResponse: true,
      // Paths that are in no contract are passed on, too.
      errors: false,
    },
    { logger: pino({ level: 'silent', customLevels: { success: 31 } }) as unknown as Logger },
  );
  const violations: string[] = [];

  async function pass(request: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(request.url ?? '', upstream);
    const query = Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));
    // Chunks belong to the connection that ends here.
    const { 'transfer-encoding': _, ...sent } = request.headers;
    const body = (await text(request)) || undefined;
    const input = { method: request.method?.toLowerCase(), url: { path: pathname, query }, headers: sent, body } as IHttpRequest;
    const result = await prism.request(input, await operations())();
    if (result._tag === 'Left') {
      response.writeHead(500, { 'Content-Type': 'text/plain' }).end(`Prism failed: ${result.left.message}`);
      return;
    }
    const { output, validations } = result.right;
    const place = `${request.method} ${request.url} answered ${output.statusCode}`;
    violations.push(...validations.output.map(({ path = [], message }) => `${place}: ${path.join('.')} ${message}`));
    const { 'content-length': _length, ...headers } = output.headers ?? {};
    response.writeHead(output.statusCode, headers);
    response.end(typeof output.body === 'string' ? output.body : JSON.stringify(output.body));
  }

  const server = createServer((request, response) => void pass(request, response));
  // Tests that wait for the clock must not find their connection closed.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (violations.length > 0) throw new Error(`Prism saw the contract broken:\n${violations.join('\n')}`);
    },
  };
}

let described: ReturnType<typeof operationsOf> | undefined;

function operations() {
  described ??= Promise.all(Object.values(bundles).map(operationsOf)).then((each) => each.flat());
  return described;
}

/** Prism leaves the base path of `servers` out, so it goes in front of each path here. It changes what it is given. */
async function operationsOf(document: (typeof bundles)[keyof typeof bundles]) {
  const root = new URL(document.servers[0]?.url ?? '').pathname;
  const operations = await getHttpOperationsFromSpec(structuredClone(document));
  return operations.map((operation) => ({ ...operation, path: root + operation.path, servers: [] }));
}
