import { createInstance, getHttpOperationsFromSpec, type IHttpResponse } from '@stoplight/prism-http';
import type { Context } from 'koa';
import { type Logger, pino } from 'pino';
import type { Operation } from '../http/contract.ts';
import { matchesETag, requireETag } from '../http/etags.ts';
import type { AnyInput } from '../http/input.ts';
import type { OperationHandler } from '../http/pipeline.ts';
import { encodePath } from '../http/problems.ts';
import { adaptNotFound, adaptToRequest, closestExample, moveReceivers, withoutAdditionalProperties } from './examples.ts';
import { readPrefer } from './prefer.ts';

// The pipeline has validated the request, so Prism only creates the response.
const prism = createInstance(
  {
    isProxy: false,
    mock: { dynamic: false },
    checkSecurity: false,
    validateRequest: false,
    validateResponse: false,
    errors: false,
    upstreamProxy: undefined,
  },
  // Prism uses a log level that pino does not have by default, and its types do not declare it.
  { logger: pino({ level: 'silent', customLevels: { success: 31 } }) as unknown as Logger },
);

/** Handles each operation with Prism, which returns an example or generates values that match the schema. */
export async function prismHandlers(document: object, publicUrl: string): Promise<(operation: Operation) => OperationHandler> {
  const prismOperations = await getHttpOperationsFromSpec(withoutAdditionalProperties(document));
  return (operation) => {
    const prismOperation = prismOperations.find(({ iid }) => iid === operation.id);
    if (!prismOperation) throw new Error(`Prism has no operation ${operation.id}.`);
    const examplesByCode = new Map(
      prismOperation.responses.map(({ code, contents }) => [Number(code), (contents?.[0]?.examples ?? []) as Example[]]),
    );
    const exampleNames = new Map([...examplesByCode].map(([code, examples]) => [code, examples.map(({ key }) => key)]));
    // An operation with two success statuses returns the higher one when it creates something. The mock stores nothing, so it
    // always creates.
    const defaultCode = operation.successStatuses.at(-1) ?? 200;

    return async (input, _caller, ctx) => {
      const { code = defaultCode, example, dynamic, seed } = readPrefer(ctx.get('Prefer'), exampleNames, defaultCode);
      const exampleKey = example ?? (dynamic ? undefined : closestExample(examplesByCode.get(code) ?? [], input));
      const response = await requestPrism(prismOperation, { code, dynamic, ...(exampleKey && { exampleKey }), ...(seed && { seed }) });
      if (code < 300) writeSuccess(ctx, operation, input, { ...response, body: moveReceivers(response.body, publicUrl) });
      else writeOther(ctx, input, response, publicUrl);
    };
  };
}

type PrismOperation = Awaited<ReturnType<typeof getHttpOperationsFromSpec>>[number];

interface Example {
  key: string;
  value: unknown;
}

async function requestPrism(operation: PrismOperation, mock: { code: number; dynamic: boolean; exampleKey?: string; seed?: string }) {
  // The operation is already known. Prism routes again, so it gets any path that leads to this operation. It would send callbacks.
  const url = { path: operation.path.replace(/\{[^}]+\}/g, '1') };
  const result = await prism.request({ method: operation.method as 'get', url }, [{ ...operation, servers: [], callbacks: [] }], {
    mock,
  } as never)();
  if (result._tag === 'Left') throw result.left;
  return result.right.output;
}

function writeSuccess(ctx: Context, operation: Operation, input: AnyInput, { statusCode, headers = {}, body }: IHttpResponse) {
  const { ETag: etag } = headers;
  if (etag !== undefined) requireETag(input.header['if-match'], etag);
  const isUnchanged = etag !== undefined && operation.method === 'GET' && matchesETag(ctx.headers['if-none-match'], etag);
  const adapted = adaptToRequest(body, input) as { data?: AnyItem };
  ctx.status = isUnchanged ? 304 : statusCode;
  ctx.set('Cache-Control', containsSecret(adapted.data) ? 'no-store' : 'private, no-cache');
  setHeaders(ctx, { ...headers, ...(headers.Location && { Location: headers.Location.replace(/\d+$/, `${adapted.data?.id}`) }) });
  if (!isUnchanged) writeBody(ctx, adapted, 'application/json');
}

interface AnyItem {
  id?: number;
  key?: string;
  heartbeat_url?: string | null;
  signing_secret?: string;
}

function containsSecret(data: AnyItem | AnyItem[] | undefined): boolean {
  return [data].flat().some((item) => Boolean(item?.key || item?.heartbeat_url || item?.signing_secret));
}

/** Writes an error or a 304 that the client asked for with Prefer. */
function writeOther(ctx: Context, input: AnyInput, { statusCode, headers = {}, body }: IHttpResponse, publicUrl: string) {
  ctx.status = statusCode;
  if (!('RateLimit' in headers)) removeRateLimitHeaders(ctx);
  setHeaders(ctx, headers);
  ctx.set('Cache-Control', body === undefined ? 'private, no-cache' : 'no-store');
  if (body === undefined) return;
  const problem = body as { code: string; detail: string };
  const actual = {
    type: `${publicUrl}/docs/problems/${problem.code}`,
    status: statusCode,
    detail: problem.code === 'not_found' ? adaptNotFound(problem.detail, input) : problem.detail,
    instance: encodePath(ctx.path),
    request_id: ctx.state.requestId,
  };
  writeBody(ctx, { ...problem, ...actual }, 'application/problem+json');
}

/** The pipeline has counted this request. The service sends some responses, such as 431, before it counts a request. */
function removeRateLimitHeaders({ res }: Context) {
  for (const name of res.getHeaderNames()) if (/^(x-)?ratelimit/.test(name)) res.removeHeader(name);
}

/** Keeps the headers that are already set, because the pipeline computed them for this request. */
function setHeaders(ctx: Context, headers: Record<string, unknown>) {
  for (const [name, value] of Object.entries(headers)) {
    const isMissing = !ctx.res.hasHeader(name) && name.toLowerCase() !== 'content-type';
    if (isMissing && value !== null) ctx.set(name, String(value));
  }
}

function writeBody(ctx: Context, body: object, mediaType: string) {
  ctx.set('Content-Type', mediaType);
  ctx.body = JSON.stringify(body);
}
