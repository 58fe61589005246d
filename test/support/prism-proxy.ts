import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createInstance, getHttpOperationsFromSpec, type IHttpRequest } from '@stoplight/prism-http';
import { type Logger, pino } from 'pino';
import { bundles } from './contract-operations.ts';

/** Every response that passed through the proxy has this header. */
export const viaPrism = '1.1 prism';

export interface PrismProxy {
  url: string;
  /** Rejects if Prism found a response that violates the contract. */
  close(): Promise<void>;
}

/**
 * Starts Prism as a proxy in front of the service. It forwards every request and validates every response against the
 * contract, with code that is independent of ours. It does not validate requests, because rejecting invalid ones is the
 * job of the service. Prism's own HTTP server is not used: it parses JSON first and hangs if the JSON is malformed.
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
      // Requests to paths outside the contract are forwarded as well.
      errors: false,
    },
    { logger: pino({ level: 'silent', customLevels: { success: 31 } }) as unknown as Logger },
  );
  const violations: string[] = [];

  async function forward(request: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(request.url ?? '', upstream);
    const query = Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));
    // Transfer-Encoding is a hop-by-hop header and must not be forwarded.
    const { 'transfer-encoding': _, ...sent } = request.headers;
    const body = (await text(request)) || undefined;
    const input = { method: request.method?.toLowerCase(), url: { path: pathname, query }, headers: sent, body } as IHttpRequest;
    const result = await prism.request(input, await operations())();
    if (result._tag === 'Left') {
      response.writeHead(500, { 'Content-Type': 'text/plain' }).end(`Prism failed: ${result.left.message}`);
      return;
    }
    const { output, validations } = result.right;
    const exchange = `${request.method} ${request.url} returned ${output.statusCode}`;
    violations.push(...validations.output.map(({ path = [], message }) => `${exchange}: ${path.join('.')} ${message}`));
    const { 'content-length': _length, ...headers } = output.headers ?? {};
    response.writeHead(output.statusCode, { ...headers, Via: viaPrism });
    response.end(typeof output.body === 'string' ? output.body : JSON.stringify(output.body));
  }

  const server = createServer((request, response) => void forward(request, response));
  // Some tests wait between requests. Their connection must stay open.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (violations.length > 0) throw new Error(`Prism found contract violations:\n${violations.join('\n')}`);
    },
  };
}

let loadedOperations: ReturnType<typeof operationsOf> | undefined;

function operations() {
  loadedOperations ??= Promise.all(Object.values(bundles).map(operationsOf)).then((each) => each.flat());
  return loadedOperations;
}

/** Prism ignores the base path in `servers`, so it is prepended to each path here. Prism modifies the document, so it gets a copy. */
async function operationsOf(document: (typeof bundles)[keyof typeof bundles]) {
  const root = new URL(document.servers[0]?.url ?? '').pathname;
  const operations = await getHttpOperationsFromSpec(structuredClone(document));
  return operations.map((operation) => ({ ...operation, path: root + operation.path, servers: [] }));
}
