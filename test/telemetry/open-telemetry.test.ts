// Spans as a collector receives them over OTLP/HTTP.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createOpenTelemetryTracer } from '../../src/telemetry/open-telemetry.ts';
import { run, waitUntilListening } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { wakeAll } from '../support/wake.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

let collector: WebServer;

beforeEach(async () => {
  collector = await startWebServer({ script: scripts.respond('{}', 200, { 'content-type': 'application/json' }) });
});
afterEach(() => collector.close());

interface SentSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code?: number };
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

/** Returns the spans that the collector has received. */
function spans(): SentSpan[] {
  const sent = collector.requests.filter(({ path }) => path === '/v1/traces').map(({ body }) => JSON.parse(body));
  return sent
    .flatMap(({ resourceSpans }) => resourceSpans.flatMap((resource: { scopeSpans: { spans: SentSpan[] }[] }) => resource.scopeSpans))
    .flatMap((scope) => scope.spans);
}

const spanNamed = (name: string) => spans().find((span) => span.name === name);
const attribute = (span: SentSpan | undefined, key: string) =>
  Object.values(span?.attributes.find((candidate) => candidate.key === key)?.value ?? {})[0];

test('a request, a check and an alert are one span each, and an alert passes its trace on to the provider', async () => {
  const tracer = createOpenTelemetryTracer({ endpoint: collector.url, serviceName: 'test' }, pino({ level: 'silent' }));
  const target = await startWebServer({ script: scripts.respond('broken', 503) });
  const telegram = await startWebServer({ script: scripts.respond('{"ok":true,"result":{"message_id":1}}') });
  const { delivery } = readConfig({ TELEGRAM_API_URL: telegram.url });
  const service = await startService({ delivery, netAllow: ['127.0.0.0/8'] }, { engine: true, tracer });
  try {
    const { api, id } = await service.createUser();
    const monitor = await api.post('/api/monitors', { json: { friendly_name: 'Shop', url: target.url }, headers: { traceparent } });
    const provider = await api.post('/api/providers', {
      json: { provider_type: 'telegram', chat_id: '1', token: `123456:${'x'.repeat(35)}` },
    });
    await service.database.asEngine((em) =>
      em.execute(
        `with incident as (insert into incidents (user_id, monitor_id, started_at, resolved_at, cause) values (?, ?, now(), now(), 'HTTP 503') returning id)
         insert into alerts (user_id, incident_id, provider_id, kind, subject, body) select ?, id, ?, 'down', 'S', 'B' from incident`,
        [id, monitor.body.data.id, id, provider.body.data.id],
      ),
    );
    await wakeAll(service.database);
    const progress = `select (select count(*)::int from monitors where last_checked_at is not null) as checked,
                         (select count(*)::int from alerts where status = 'sent') as sent`;
    await vi.waitFor(async () => expect(await service.database.asEngine((em) => em.execute(progress))).toEqual([{ checked: 1, sent: 1 }]), {
      timeout: 20_000,
    });
  } finally {
    await service.stop();
    await tracer.close();
    await target.close();
    await telegram.close();
  }
  const request = spanNamed('createMonitor');
  expect(request).toMatchObject({ traceId, parentSpanId: '00f067aa0ba902b7' });
  expect(attribute(request, 'http.response.status_code')).toBe(201);
  expect(attribute(spanNamed('check http'), 'outcome')).toBe('down');
  const alert = spanNamed('alert telegram');
  expect(attribute(alert, 'outcome')).toBe('sent');
  expect(telegram.requests[0]?.headers.traceparent).toBe(`00-${alert?.traceId}-${alert?.spanId}-01`);
  expect(target.requests[0]?.headers).not.toHaveProperty('traceparent');
});

test('a process sends its spans before it exits if a collector is configured, and otherwise does not load OpenTelemetry', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-otel-'));
  const serveOnce = async (settings: Record<string, string>) => {
    const service = run(folder, { PORT: '0', NODE_OPTIONS: printLoaded, ...settings });
    await fetch(`${await waitUntilListening(service)}/api/monitors`, { headers: { traceparent } });
    service.child.kill('SIGINT');
    expect(await service.ended).toBe(0);
    return service.printed();
  };
  try {
    expect(await serveOnce({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).toContain('loads @opentelemetry/sdk-trace');
    expect(spanNamed('listMonitors')).toMatchObject({ traceId });
    const sent = collector.requests.length;
    expect(await serveOnce({})).not.toContain('loads @opentelemetry');
    expect(collector.requests).toHaveLength(sent);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 120_000);

/** Prints the OpenTelemetry packages that are loaded, except the API package, which prom-client also uses. */
const printLoaded = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ resolve(name, context, next) {
    if (name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api') console.log('loads ' + name);
    return next(name, context);
  } });
`)}`;
