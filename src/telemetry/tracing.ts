// W3C Trace Context: adds requests to the client's trace. It costs nothing unless a client sends one or tracing is on.
import { AsyncLocalStorage } from 'node:async_hooks';

export interface TraceContext {
  traceId: string;
  spanId: string;
  /** 1 if the caller records the trace. */
  flags: number;
}

/** Records units of work as spans. */
export interface Tracer {
  start(name: string, options?: { kind?: SpanKind; parent?: TraceContext | undefined }): Span;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** A server span handles a request, and a client span waits for another system. */
export type SpanKind = 'server' | 'client' | 'internal';

/**
 * Named by the semantic conventions of OpenTelemetry. Spans leave this machine, so no attribute contains a secret: no value of a
 * statement, no query string, and no path of a user's URL, because the paths of webhooks are secrets.
 */
export type Attributes = Record<string, string | number | undefined>;

export interface Span {
  context: TraceContext;
  /** A span with the attribute error.type has failed. */
  end(outcome: { name?: string | undefined; attributes: Attributes }): void;
}

const format = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Parses the `traceparent` header. Returns undefined if it is missing or malformed. Only later versions may have extra fields.
 * A test compares it with the parser of @opentelemetry/core. Loading that takes 40 ms and 2 MB of heap at every start.
 */
export function parseTraceparent(header: string): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', extra] = format.exec(header) ?? [];
  if (version === undefined || (version === '00' && extra !== undefined)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 };
}

/** The trace that the current work belongs to. It is recorded if there is a tracer; otherwise it is only passed on. */
interface ActiveTrace {
  context: TraceContext;
  tracer?: Tracer | undefined;
}

const current = new AsyncLocalStorage<ActiveTrace | undefined>();

/** Runs work inside a trace, so that outgoing requests propagate the trace. */
export function inTrace<T>(trace: ActiveTrace | undefined, work: () => T): T {
  return trace ? current.run(trace, work) : work();
}

/** Runs work that does not belong to the current trace, such as a loop that a request has woken. */
export function outsideTrace<T>(work: () => T): T {
  return current.run(undefined, work);
}

/** Whether spans of the current work are recorded. */
export function isTraced(): boolean {
  const trace = current.getStore();
  return trace?.tracer !== undefined && trace.context.flags === 1;
}

/** Work that can add attributes to its span. */
type TracedWork<T> = (addAttributes: (attributes: Attributes) => void) => Promise<T>;

const ignore = () => {};

/** Records work as a span of the current trace. Only runs it if there is none, or if the trace is not sampled. */
export function inSpan<T>(name: string, options: { kind: SpanKind; attributes?: Attributes }, work: TracedWork<T>): Promise<T> {
  const trace = current.getStore();
  return trace?.tracer && isTraced() ? record(trace.tracer, name, { ...options, parent: trace.context }, work) : work(ignore);
}

/** Records work as a trace of its own, if there is a tracer. */
export function asTrace<T>(tracer: Tracer | undefined, name: string, attributes: Attributes, work: TracedWork<T>): Promise<T> {
  return tracer ? record(tracer, name, { kind: 'internal', attributes }, work) : work(ignore);
}

async function record<T>(
  tracer: Tracer,
  name: string,
  { kind, parent, attributes }: { kind: SpanKind; parent?: TraceContext; attributes?: Attributes },
  work: TracedWork<T>,
): Promise<T> {
  const span = tracer.start(name, { kind, parent });
  const collected = { ...attributes };
  try {
    return await current.run({ tracer, context: span.context }, () => work((added) => void Object.assign(collected, added)));
  } catch (error) {
    collected['error.type'] ??= errorTypeOf(error);
    throw error;
  } finally {
    span.end({ attributes: collected });
  }
}

/** A short name of the error. Its message may contain a secret. */
function errorTypeOf(error: unknown): string {
  const { code, kind, name } = error as { code?: unknown; kind?: unknown; name?: unknown };
  return [code, kind, name].find((text) => typeof text === 'string') ?? 'error';
}

/** The headers that add an outgoing request to the current trace. */
export function traceHeaders(): { traceparent?: string } {
  const context = current.getStore()?.context;
  return context ? { traceparent: `00-${context.traceId}-${context.spanId}-0${context.flags}` } : {};
}
