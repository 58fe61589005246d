// Loaded only if a collector is configured, because loading it takes time and memory.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { TracingSettings } from '../config/config.ts';
import type { Role } from './log.ts';
import type { TraceContext, Tracer } from './tracing.ts';

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };
/** How long a collector that does not respond may delay the shutdown. */
const shutdownTimeoutMs = 2000;
/** Longer statements are cut. */
const maxAttributeLength = 4096;

/** Sends spans to a collector over OTLP/HTTP in JSON. */
export function createOpenTelemetryTracer(settings: TracingSettings, role: Role, log: Logger): Tracer {
  const warn = (message: string, ...details: unknown[]) => log.warn({ details }, `OpenTelemetry: ${message}`);
  const ignore = () => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.version': packageJson.version,
      'service.instance.id': randomUUID(), // The conventions recommend a random one. Process ids are the same in every container.
      'host.name': hostname(),
      'process.pid': process.pid,
      'sitekeeper.role': role,
      ...settings.resource,
      'service.name': settings.serviceName,
    }),
    sampler: createSampler(settings),
    spanLimits: { attributeValueLengthLimit: maxAttributeLength },
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: settings.url, headers: settings.headers }) })],
  });
  const tracer = provider.getTracer('sitekeeper');
  return {
    start(name, { kind = 'internal', parent } = {}) {
      const span = tracer.startSpan(name, { kind: kinds[kind] }, contextOf(parent, kind === 'server'));
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        context: { traceId, spanId, flags: traceFlags & TraceFlags.SAMPLED },
        end({ name, attributes }) {
          if (name) span.updateName(name);
          span.setAttributes(attributes);
          if (attributes['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    async close() {
      await Promise.race([provider.shutdown(), new Promise((resolve) => setTimeout(resolve, shutdownTimeoutMs).unref())]);
    },
  };
}

/** A sampler that is parent-based follows the decision of the client, if there is one. */
function createSampler({ sampler, sampleRatio }: TracingSettings): Sampler {
  const root = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(sampleRatio),
  }[sampler.root]();
  return sampler.followsParent ? new ParentBasedSampler({ root }) : root;
}

function contextOf(parent: TraceContext | undefined, isRemote: boolean) {
  if (!parent) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote });
}
