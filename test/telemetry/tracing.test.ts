import { Writable } from 'node:stream';
import { TraceFlags } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { parseTraceparent } from '../../src/telemetry/tracing.ts';
import { startService } from '../support/service.ts';
import { scripts, startWebServer } from '../support/web-server.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

test.each([
  '',
  traceId,
  `00-${traceId}-00f067aa0ba902b7`,
  `00-${traceId}-00f067aa0ba902b7-01-more`,
  `00-${traceId.toUpperCase()}-00f067aa0ba902b7-01`,
  `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `ff-${traceId}-00f067aa0ba902b7-01`,
])('ignores the traceparent %j, as OpenTelemetry does', (header) => {
  expect(parseTraceparent(header)).toBeUndefined();
  expect(parseTraceParent(header)).toBeNull();
});

test('ignores a traceparent after a space', () => {
  expect(parseTraceparent(` ${traceparent}`)).toBeUndefined();
});

test.each([traceparent, `cc-${traceId}-00f067aa0ba902b7-ff-added-by-a-later-version`, `00-${traceId}-00f067aa0ba902b7-02`])(
  'parses the traceparent %j, as OpenTelemetry does',
  (header) => {
    const { traceFlags, ...ids } = parseTraceParent(header) ?? {};
    expect(ids).toEqual({ traceId, spanId: '00f067aa0ba902b7' });
    expect(parseTraceparent(header)).toEqual({ ...ids, flags: Number(traceFlags) & TraceFlags.SAMPLED });
  },
);

test('a trace id is logged and sent with outgoing requests; a malformed one is not', async () => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(line, _, done) {
      lines.push(JSON.parse(line));
      done();
    },
  });
  const telegram = await startWebServer({ script: scripts.respond('{"ok":true,"result":{"message_id":1}}') });
  const { delivery } = readConfig({ TELEGRAM_API_URL: telegram.url });
  const service = await startService({ delivery }, { log: pino(sink) });
  try {
    const { api } = await service.createUser();
    const provider = await api.post('/api/providers', {
      json: { provider_type: 'telegram', chat_id: '1', token: `123456:${'x'.repeat(35)}` },
    });
    const sendTest = async (header: string) => {
      const { status } = await api.post(`/api/providers/${provider.body.data.id}/test`, { headers: { traceparent: header } });
      expect(status).toBe(200);
      return [lines.at(-1)?.trace_id, telegram.requests.at(-1)?.headers.traceparent];
    };
    expect(await sendTest(traceparent)).toEqual([traceId, traceparent]);
    expect(await sendTest(`${traceparent}-more`)).toEqual([undefined, undefined]);
  } finally {
    await service.stop();
    await telegram.close();
  }
});
