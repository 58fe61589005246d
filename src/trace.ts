// Which piece of work, begun elsewhere, ours belongs to: W3C Trace Context. Costs nothing where nobody sends or records one.
import { AsyncLocalStorage } from 'node:async_hooks';

export interface TraceContext {
  traceId: string;
  spanId: string;
  /** 1: the caller records it. */
  flags: number;
}

/** Records pieces of work as spans, for operators who collect them. */
export interface Tracer {
  start(name: string, options?: { kind?: 'server' | 'client'; parent?: TraceContext | undefined; startedMs?: number }): Span;
  /** Sends what is not sent yet. */
  close(): Promise<void>;
}

export interface Span {
  context: TraceContext;
  end(outcome: { name?: string | undefined; failed: boolean; attributes: Record<string, string | number | undefined> }): void;
}

const wellFormed = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The header `traceparent`; undefined where it is missing or malformed. Later versions may say more after a dash. */
export function readTraceparent(header: string): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = wellFormed.exec(header) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 };
}

const current = new AsyncLocalStorage<TraceContext>();

/** What the work sends out meanwhile carries the trace on. */
export function inTrace<T>(context: TraceContext | undefined, work: () => T): T {
  return context ? current.run(context, work) : work();
}

/** For a request that goes out. */
export function traceHeaders(): { traceparent?: string } {
  const context = current.getStore();
  return context ? { traceparent: `00-${context.traceId}-${context.spanId}-0${context.flags}` } : {};
}
