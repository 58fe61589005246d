import { createInstance, getHttpOperationsFromSpec, type IHttpResponse } from '@stoplight/prism-http';
import type { Context } from 'koa';
import { type Logger, pino } from 'pino';
import type { Answerer } from '../http/admission.ts';
import type { Operation } from '../http/contract.ts';
import type { AnyInput } from '../http/input.ts';
import { instanceOf } from '../http/problems.ts';
import { isUnchanged, requireVersion } from '../http/versions.ts';
import { aboutTheSame, closed, fittingExample } from './examples.ts';
import { readPrefer } from './prefer.ts';

// The request was held against the contract before; Prism only makes the answer.
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
  // Prism calls a level that pino does not have by itself, and its types do not say so.
  { logger: pino({ level: 'silent', customLevels: { success: 31 } }) as unknown as Logger },
);

/** Prism as the one who answers every operation of an API, from its examples or with values made up to fit the schema. */
export async function prismAnswers(document: object, publicUrl: string): Promise<(operation: Operation) => Answerer> {
  const described = await getHttpOperationsFromSpec(closed(document));
  return (operation) => {
    const found = described.find(({ iid }) => iid === operation.id);
    if (!found) throw new Error(`Prism does not know the operation ${operation.id}.`);
    const examplesOf = new Map(found.responses.map(({ code, contents }) => [Number(code), (contents?.[0]?.examples ?? []) as Example[]]));
    const choices = new Map([...examplesOf].map(([code, examples]) => [code, examples.map(({ key }) => key)]));
    // Of several successes the last is the one of something new, and here nothing is old.
    const usualCode = operation.successes.at(-1) ?? 200;

    return async (input, _caller, ctx) => {
      const { code = usualCode, example, dynamic, seed } = readPrefer(ctx.get('Prefer'), choices, usualCode);
      const exampleKey = example ?? (dynamic ? undefined : fittingExample(examplesOf.get(code) ?? [], input));
      const answer = await ask(found, { code, dynamic, ...(exampleKey && { exampleKey }), ...(seed && { seed }) });
      if (code < 300) writeSuccess(ctx, operation, input, answer);
      else writeOther(ctx, answer, publicUrl);
    };
  };
}

type PrismOperation = Awaited<ReturnType<typeof getHttpOperationsFromSpec>>[number];

interface Example {
  key: string;
  value: unknown;
}

async function ask(operation: PrismOperation, wanted: { code: number; dynamic: boolean; exampleKey?: string; seed?: string }) {
  // It was found already, so any path that Prism finds it by will do; base paths it leaves out.
  const url = { path: operation.path.replace(/\{[^}]+\}/g, '1') };
  const result = await prism.request({ method: operation.method as 'get', url }, [{ ...operation, servers: [] }], {
    mock: wanted,
  } as never)();
  if (result._tag === 'Left') throw result.left;
  return result.right.output;
}

function writeSuccess(ctx: Context, operation: Operation, input: AnyInput, { statusCode, headers = {}, body }: IHttpResponse) {
  const version = headers.ETag?.slice(1, -1);
  if (version !== undefined) requireVersion(input.header['if-match'], version);
  const isKnown = version !== undefined && operation.method === 'GET' && isUnchanged(ctx.headers['if-none-match'], version);
  const said = aboutTheSame(body, input) as { data?: { id?: number } };
  ctx.status = isKnown ? 304 : statusCode;
  ctx.set('Cache-Control', 'private, no-cache');
  setHeaders(ctx, { ...headers, ...(headers.Location && { Location: headers.Location.replace(/\d+$/, `${said.data?.id}`) }) });
  if (!isKnown) writeBody(ctx, said, 'application/json');
}

/** An error, or 304, that the caller wished for. */
function writeOther(ctx: Context, { statusCode, headers = {}, body }: IHttpResponse, publicUrl: string) {
  ctx.status = statusCode;
  setHeaders(ctx, headers);
  if (body === undefined) return;
  ctx.set('Cache-Control', 'no-store');
  const problem = body as { code: string };
  const about = { type: `${publicUrl}/docs/problems/${problem.code}`, instance: instanceOf(ctx.path), request_id: ctx.state.requestId };
  writeBody(ctx, { ...problem, ...about, status: statusCode }, 'application/problem+json');
}

/** Those that say something about this very request are there already. */
function setHeaders(ctx: Context, headers: Record<string, unknown>) {
  for (const [name, value] of Object.entries(headers)) {
    const isOpen = !ctx.res.hasHeader(name) && name.toLowerCase() !== 'content-type';
    if (isOpen && value !== null) ctx.set(name, String(value));
  }
}

function writeBody(ctx: Context, body: object, mediaType: string) {
  ctx.set('Content-Type', mediaType);
  ctx.body = JSON.stringify(body);
}
