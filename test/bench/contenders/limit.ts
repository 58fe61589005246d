// The limit: what a machine can do at all. Bare node:http, one prepared statement a request, the same bytes; nobody is
// asked for a key, nothing is validated, counted or logged, and no policy holds.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const { BENCH_DATABASE_URL, BENCH_USER } = process.env;
const pool = new pg.Pool({ connectionString: BENCH_DATABASE_URL, max: 10, options: '-c max_parallel_workers_per_gather=0' });
const user = Number(BENCH_USER);

const websiteColumns =
  'id, domain, privacy, password_hash, email, exclude_bots, exclude_params, exclude_ips, favorite, created_at, updated_at';
const monitorColumns =
  'id, friendly_name, url, type, interval_seconds, is_active, status, last_checked_at, last_response_time_ms, last_error, created_at, updated_at';
const incidentColumns = 'id, monitor_id, started_at, resolved_at, cause, status_code';

const statements = {
  website: `select ${websiteColumns} from websites where user_id = $1 and id = $2`,
  monitor: `select ${monitorColumns} from monitors where user_id = $1 and id = $2`,
  websites: `select ${websiteColumns}, (select website_count from users where id = $1) as total from websites where user_id = $1 order by id desc limit $2`,
  incidents: `select ${incidentColumns}, count(*) over () as total from incidents
    where user_id = $1 and monitor_id = $2 and (resolved_at is null or resolved_at > now() - interval '1 year') order by started_at desc, id desc limit 100`,
  create: `insert into websites (user_id, domain) values ($1, $2) returning ${websiteColumns}`,
  patch: `update websites set favorite = $3, version = version + 1, updated_at = clock_timestamp() where user_id = $1 and id = $2 returning ${websiteColumns}`,
};

type Row = Record<string, unknown> & { created_at: Date; updated_at: Date; last_checked_at: Date | null; total: number };

const websiteOf = ({ total, password_hash, ...row }: Row) => ({
  id: row.id,
  domain: row.domain,
  privacy: row.privacy,
  has_password: password_hash !== null,
  email: row.email,
  exclude_bots: row.exclude_bots,
  exclude_params: row.exclude_params,
  exclude_ips: row.exclude_ips,
  favorite: row.favorite,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
const monitorOf = ({ interval_seconds, ...row }: Row) => ({
  id: row.id,
  friendly_name: row.friendly_name,
  url: row.url,
  type: row.type,
  interval: interval_seconds,
  is_active: row.is_active,
  status: row.status,
  last_checked_at: row.last_checked_at?.toISOString() ?? null,
  last_response_time_ms: row.last_response_time_ms,
  last_error: row.last_error,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
const incidentOf = (row: {
  id: number;
  monitor_id: number;
  started_at: Date;
  resolved_at: Date | null;
  cause: string;
  status_code: number;
}) => ({
  id: row.id,
  monitor_id: row.monitor_id,
  status: row.resolved_at ? 'resolved' : 'open',
  started_at: row.started_at.toISOString(),
  resolved_at: row.resolved_at?.toISOString() ?? null,
  duration_seconds: row.resolved_at ? Math.round((row.resolved_at.getTime() - row.started_at.getTime()) / 1000) : null,
  cause: row.cause,
  status_code: row.status_code,
});

const query = async <Result extends pg.QueryResultRow = Row>(name: keyof typeof statements, values: unknown[]) =>
  (await pool.query<Result>({ name, text: statements[name], values })).rows;

async function answer(request: IncomingMessage, response: ServerResponse) {
  const { method, url = '' } = request;
  const id = Number(/\d+/.exec(url.replace('/v1', ''))?.[0]);
  if (url === '/noop') return send(response, 200, { data: null });
  if (url.startsWith('/api/v1/websites?')) {
    const perPage = Number(/per_page=(\d+)/.exec(url)?.[1]);
    const rows = await query('websites', [user, perPage]);
    const total = rows[0]?.total ?? 0;
    const link = (page: number) => `/api/v1/websites?per_page=${perPage}&page=${page}`;
    const last = Math.ceil(total / perPage);
    return send(response, 200, {
      data: rows.map(websiteOf),
      links: { first: link(1), last: link(last), prev: null, next: link(2) },
      meta: { current_page: 1, per_page: perPage, last_page: last, total, from: 1, to: rows.length },
    });
  }
  if (method === 'POST') {
    const domain = new URLSearchParams(await textOf(request)).get('domain');
    return send(response, 201, { data: websiteOf((await query('create', [user, domain]))[0] as Row) });
  }
  if (method === 'PATCH') {
    const favorite = new URLSearchParams(await textOf(request)).get('favorite') === '1';
    return send(response, 200, { data: websiteOf((await query('patch', [user, id, favorite]))[0] as Row) });
  }
  if (url.includes('/incidents')) {
    const rows = await query<Parameters<typeof incidentOf>[0] & { total: number }>('incidents', [user, id]);
    const total = rows[0]?.total ?? 0;
    const link = (page: number) => `/api/monitors/${id}/incidents?window=1y&page=${page}`;
    return send(response, 200, {
      data: rows.map(incidentOf),
      links: { first: link(1), last: link(5), prev: null, next: link(2) },
      meta: { page: 1, pageSize: 100, pageCount: Math.ceil(total / 100), total },
    });
  }
  if (url.startsWith('/api/monitors/')) return send(response, 200, { data: monitorOf((await query('monitor', [user, id]))[0] as Row) });
  send(response, 200, { data: websiteOf((await query('website', [user, id]))[0] as Row) });
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

function send(response: ServerResponse, status: number, body: object) {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(0, '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.once('SIGTERM', () => process.exit(0));
