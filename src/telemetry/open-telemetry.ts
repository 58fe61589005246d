// Loaded only if OTEL_EXPORTER_OTLP_ENDPOINT is set, because loading it takes time and memory.
import { DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../config/config.ts';
import type { TraceContext, Tracer } from './tracing.ts';

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT };
/** How long a collector that does not respond may delay the shutdown. */
const shutdownTimeoutMs = 2000;

/** Sends spans to a collector over OTLP/HTTP in JSON. The caller's sampling decision is followed. */
export function createOpenTelemetryTracer({ endpoint, serviceName }: NonNullable<Config['tracing']>, log: Logger): Tracer {
  const warn = (message: string, ...details: unknown[]) => log.warn({ details }, `OpenTelemetry: ${message}`);
  const ignore = () => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': packageJson.version }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('sitekeeper');
  return {
    start(name, { kind = 'server', parent, startedMs = performance.now() } = {}) {
      const span = tracer.startSpan(name, { kind: kinds[kind], startTime: startedMs }, contextOf(parent));
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        context: { traceId, spanId, flags: traceFlags },
        end({ name, failed, attributes }) {
          if (name) span.updateName(name);
          span.setAttributes(attributes);
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    async close() {
      await Promise.race([provider.shutdown(), new Promise((resolve) => setTimeout(resolve, shutdownTimeoutMs).unref())]);
    },
  };
}

function contextOf(parent: TraceContext | undefined) {
  if (!parent) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true });
}
