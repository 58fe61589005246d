// Spans as a collector receives them over OTLP/HTTP.
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { readConfig } from '../../src/config/config.ts';
import { createOpenTelemetryTracer } from '../../src/telemetry/open-telemetry.ts';
import { asTrace, inSpan, inTrace, parseTraceparent, type Tracer } from '../../src/telemetry/tracing.ts';
import { startMailServer } from '../support/mail-server.ts';
import { run, waitUntilListening } from '../support/process.ts';
import { sampleAlert } from '../support/sample-event.ts';
import { startService } from '../support/service.ts';
import { wakeAll } from '../support/wake.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const probeparent = '00-11112222333344445555666677778888-00f067aa0ba902b7-01';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

let collector: WebServer;

beforeEach(async () => {
  collector = await startWebServer({ script: scripts.respond('{}', 200, { 'content-type': 'application/json' }) });
});
afterEach(() => collector.close());

interface SentSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code?: number };
  attributes: SentAttribute[];
}

interface SentAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}

interface ResourceSpans {
  resource: { attributes: SentAttribute[] };
  scopeSpans: { spans: SentSpan[] }[];
}

function received(): ResourceSpans[] {
  return collector.requests.filter(({ path }) => path === '/v1/traces').flatMap(({ body }) => JSON.parse(body).resourceSpans);
}

/** Returns the spans that the collector has received. */
function spans(): SentSpan[] {
  return received().flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
}

const spanNamed = (name: string) => spans().find((span) => span.name === name);
const toObject = (attributes: SentAttribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
const attributesOf = (span: SentSpan | undefined) => toObject(span?.attributes);
const childrenOf = (span: SentSpan | undefined) => spans().filter(({ parentSpanId }) => parentSpanId === span?.spanId);

/** Closing the tracer sends the spans, but does not wait longer than 2 seconds for a collector on a busy machine. */
async function close(tracer: Tracer, ...names: string[]) {
  await tracer.close();
  await vi.waitFor(() => expect(spans().map(({ name }) => name)).toEqual(expect.arrayContaining(names)), { timeout: 30_000 });
}

const kinds = { internal: 1, server: 2, client: 3 };
const failed = { code: 2 };

function createTracer(settings: Record<string, string> = {}) {
  const { tracing } = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
  if (!tracing) throw new Error('There is no collector.');
  return createOpenTelemetryTracer(tracing, 'serve', pino({ level: 'silent' }));
}

test('requests, checks and alerts are traces with database and outgoing spans, and no span contains a secret', async () => {
  const tracer = createTracer();
  const target = await startWebServer({ script: scripts.respond('broken', 503) });
  const telegram = await startWebServer({ script: scripts.respond('{"ok":true,"result":{"message_id":1}}') });
  const mail = await startMailServer();
  const { delivery } = readConfig({
    TELEGRAM_API_URL: telegram.url,
    SMTP_URL: `smtp://${mail.host}`,
    MAIL_FROM: 'alerts@sitekeeper.example',
  });
  const service = await startService({ delivery, netAllow: ['127.0.0.0/8'] }, { engine: true, tracer });
  const token = `123456:${'x'.repeat(35)}`;
  try {
    const { api, id } = await service.createUser();
    const json = { friendly_name: 'Secret shop', url: `${target.url}/secret-path?secret-query` };
    const monitor = await api.post('/api/monitors', { json, headers: { traceparent } });
    await api.get('/api/monitors/999?secret-query');
    await api.post('/api/monitors', { json: { friendly_name: 7 } });
    for (const path of ['/healthz', '/readyz', '/metrics']) await service.anonymous.get(path, { headers: { traceparent: probeparent } });
    const providers = [
      await api.post('/api/providers', { json: { provider_type: 'telegram', chat_id: '1', token } }),
      await api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'secret@example.com' } }),
    ];
    for (const provider of providers) {
      await service.database.asEngine((em) =>
        em.execute(
          `with incident as (insert into incidents (user_id, monitor_id, started_at, resolved_at, cause) values (?, ?, now(), now(), 'HTTP 503') returning id)
           insert into alerts (user_id, incident_id, provider_id, kind, payload) select ?, id, ?, ${sampleAlert()} from incident`,
          [id, monitor.body.data.id, id, provider.body.data.id],
        ),
      );
    }
    await wakeAll(service.database);
    const progress = `select (select count(*)::int from monitors where last_checked_at is not null) as checked,
                         (select count(*)::int from alerts where status = 'sent') as sent`;
    await vi.waitFor(async () => expect(await service.database.asEngine((em) => em.execute(progress))).toEqual([{ checked: 1, sent: 2 }]), {
      timeout: 20_000,
    });
  } finally {
    await service.stop();
    await close(tracer, 'POST /api/monitors', 'check http', 'alert telegram', 'alert email');
    await target.close();
    await telegram.close();
    await mail.close();
  }
  const request = spanNamed('POST /api/monitors');
  expect(request).toMatchObject({ traceId, parentSpanId: '00f067aa0ba902b7', kind: kinds.server, status: {} });
  expect(attributesOf(request)).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/api/monitors',
    'http.response.status_code': 201,
    'sitekeeper.operation': 'createMonitor',
  });
  const [transaction] = childrenOf(request).filter(({ name }) => name === 'transaction');
  const statement = [...childrenOf(request), ...childrenOf(transaction)].find(({ name }) => name.includes('insert monitors'));
  expect(statement).toMatchObject({ traceId, kind: kinds.client });
  expect(attributesOf(statement)).toMatchObject({
    'db.system.name': 'postgresql',
    'db.query.text': expect.stringMatching(/insert into "monitors" .*\$1/),
  });
  // A mistake of the client is not an error of the service.
  expect(spanNamed('GET /api/monitors/{id}')).toMatchObject({ status: {} });
  expect(attributesOf(spanNamed('GET /api/monitors/{id}'))).toMatchObject({
    'http.route': '/api/monitors/{id}',
    'http.response.status_code': 404,
    'sitekeeper.problem': 'not_found',
  });

  const check = spanNamed('check http');
  expect(check).toMatchObject({ kind: kinds.internal });
  expect(attributesOf(check)).toMatchObject({ 'server.address': '127.0.0.1', 'sitekeeper.outcome': 'down' });
  const [checkRequest] = childrenOf(check);
  expect(checkRequest).toMatchObject({ name: 'GET', kind: kinds.client, status: failed });
  expect(attributesOf(checkRequest)).toEqual({
    'http.request.method': 'GET',
    'http.response.status_code': 503,
    'error.type': '503',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(target.url).port),
    'url.scheme': 'http',
  });
  expect(target.requests[0]?.headers).not.toHaveProperty('traceparent');

  const alert = spanNamed('alert telegram');
  expect(attributesOf(alert)).toMatchObject({ 'sitekeeper.outcome': 'sent' });
  const alertRequest = childrenOf(alert).find(({ name }) => name === 'POST');
  expect(attributesOf(alertRequest)).toMatchObject({ 'http.response.status_code': 200, 'server.address': '127.0.0.1' });
  expect(telegram.requests[0]?.headers.traceparent).toBe(`00-${alert?.traceId}-${alertRequest?.spanId}-01`);
  expect(childrenOf(spanNamed('alert email')).map(({ name }) => name)).toEqual(expect.arrayContaining(['send mail', 'transaction']));
  expect(attributesOf(spanNamed('send mail'))).toEqual({
    'network.protocol.name': 'smtp',
    'server.address': '127.0.0.1',
    'server.port': Number(mail.host.split(':')[1]),
  });

  // A request wakes the loops of the engine, but what they do is not part of its trace.
  for (const { parentSpanId } of [check, alert, spanNamed('alert email')].flatMap((span) => span ?? []))
    expect(parentSpanId ?? '').toBe('');
  expect(spans().filter((span) => span.traceId === traceId && JSON.stringify(span).includes('claim_tokens'))).toEqual([]);

  expect(spans().filter((span) => span.traceId === probeparent.split('-')[1])).toEqual([]);

  const sent = JSON.stringify(received());
  expect(sent).not.toMatch(/secret/i);
  expect(sent).not.toContain(token.slice(0, 12));
});

test.each([
  [{ OTEL_TRACES_SAMPLER: 'always_off' }, { traced: 0, untraced: 0 }],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, { traced: 1, untraced: 0 }],
  [
    { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
    { traced: 1, untraced: 0 },
  ],
  [
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
    { traced: 0, untraced: 0 },
  ],
  [
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' },
    { traced: 1, untraced: 1 },
  ],
  [{}, { traced: 1, untraced: 1 }],
])('samples by the standard variables: %j', async (settings, expected) => {
  const tracer = createTracer(settings);
  const work = async () => {};
  for (const [name, parent] of [
    ['traced', parseTraceparent(traceparent)],
    ['untraced', undefined],
  ] as const) {
    const span = tracer.start(name, { kind: 'server', parent });
    await inTrace({ context: span.context, tracer }, () => inSpan(`part of ${name}`, { kind: 'client' }, work));
    span.end({ attributes: {} });
  }
  await close(tracer, ...Object.entries(expected).flatMap(([name, count]) => (count > 0 ? [name, `part of ${name}`] : [])));
  const count = (name: string) => spans().filter((span) => span.name === name).length;
  expect({ traced: count('traced'), untraced: count('untraced') }).toEqual(expected);
  expect({ traced: count('part of traced'), untraced: count('part of untraced') }).toEqual(expected);
});

test('a collector gets the headers and the resource attributes of the standard variables', async () => {
  const tracer = createTracer({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc=, x-team = ops',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production%2C%20EU,service.name=ignored',
    OTEL_SERVICE_NAME: 'status',
    OTEL_EXPORTER_OTLP_ENDPOINT: '',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
  });
  tracer.start('request').end({ attributes: {} });
  await close(tracer, 'request');
  expect(collector.requests[0]?.headers).toMatchObject({ authorization: 'Basic abc=', 'x-team': 'ops' });
  expect(toObject(received()[0]?.resource.attributes)).toMatchObject({
    'service.name': 'status',
    'service.version': packageJson.version,
    'service.instance.id': expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
    'host.name': hostname(),
    'process.pid': process.pid,
    'sitekeeper.role': 'serve',
    'deployment.environment.name': 'production, EU',
  });
});

test('an error in a span is named by its code, and its message is not sent', async () => {
  const tracer = createTracer();
  const work = () => Promise.reject(Object.assign(new Error('a secret'), { code: '23505' }));
  await expect(asTrace(tracer, 'fails', {}, work)).rejects.toThrow('a secret');
  await close(tracer, 'fails');
  expect(spanNamed('fails')).toMatchObject({ status: failed });
  expect(attributesOf(spanNamed('fails'))).toEqual({ 'error.type': '23505' });
  expect(JSON.stringify(received())).not.toContain('a secret');
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
    expect(spanNamed('GET /api/monitors')).toMatchObject({ traceId });
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
