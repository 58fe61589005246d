// The baseline: what this machine can do at most. A bare node:http server that runs one prepared statement per request and
// returns the same bytes, without authentication, validation, rate limits, logs or row-level security.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { type IncidentRow, incidentList, type MonitorRow, monitorOf, statements, type WebsiteRow, websiteList, websiteOf } from './rows.ts';

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: 10, options: '-c max_parallel_workers_per_gather=0' });
const user = Number(process.env.BENCH_USER);

const query = async <Row extends object>(name: keyof typeof statements, ...values: unknown[]) =>
  (await pool.query<Row>({ name, text: statements[name], values: [user, ...values] })).rows;
const website = async (...args: Parameters<typeof query>) => ({ data: websiteOf((await query<WebsiteRow>(...args))[0] as WebsiteRow) });

async function respond(request: IncomingMessage, response: ServerResponse) {
  const { method, url = '' } = request;
  const id = Number(/\d+/.exec(url.replace('/v1', ''))?.[0]);
  if (url === '/noop') return send(response, 200, { data: null });
  if (url.startsWith('/api/v1/websites?')) {
    const perPage = Number(/per_page=(\d+)/.exec(url)?.[1]);
    const rows = await query<WebsiteRow>('websites', perPage);
    return send(response, 200, websiteList(rows, rows[0]?.total ?? 0, perPage));
  }
  if (method === 'POST') return send(response, 201, await website('create', (await formOf(request)).get('domain')));
  if (method === 'PATCH') return send(response, 200, await website('patch', id, (await formOf(request)).get('favorite') === 'true'));
  if (url.includes('/incidents')) {
    const rows = await query<IncidentRow>('incidents', id);
    return send(response, 200, incidentList(rows, rows[0]?.total ?? 0, id));
  }
  if (url.startsWith('/api/monitors/')) {
    return send(response, 200, { data: monitorOf((await query<MonitorRow>('monitor', id))[0] as MonitorRow) });
  }
  send(response, 200, await website('website', id));
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return new URLSearchParams(text);
}

function send(response: ServerResponse, status: number, body: object) {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text);
}

const server = createServer((request, response) => {
  respond(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(0, '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.once('SIGTERM', () => process.exit(0));
