// A peer: Fastify with routes and validation from the contract and with pg. It does the same work as the service: API key,
// rate limit, row-level security in a transaction, a log line per request.
import formbody from '@fastify/formbody';
import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyRequest } from 'fastify';
import openapiGlue from 'fastify-openapi-glue';
import pg from 'pg';
import monitoring from '../../../generated/monitoring.json' with { type: 'json' };
import websites from '../../../generated/websites.json' with { type: 'json' };
import { Keys } from './keys.ts';
import { type IncidentRow, incidentList, type MonitorRow, monitorOf, statements, type WebsiteRow, websiteList, websiteOf } from './rows.ts';

declare module 'fastify' {
  interface FastifyRequest {
    userId: number;
  }
}

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: 10, options: '-c role=sitekeeper_app' });
const keys = new Keys(pool);

async function asUser<Row extends object>(userId: number, name: keyof typeof statements, ...values: unknown[]): Promise<Row[]> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query({ name: 'user', text: `select set_config('app.user_id', $1, true)`, values: [userId] });
    const { rows } = await client.query<Row>({ name, text: statements[name], values: [userId, ...values] });
    await client.query('commit');
    return rows;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const website = async (...args: Parameters<typeof asUser>) => ({ data: websiteOf((await asUser<WebsiteRow>(...args))[0] as WebsiteRow) });
const idOf = (request: FastifyRequest) => (request.params as { id: number }).id;

const handlers: Record<string, (request: FastifyRequest, reply: { code(status: number): void }) => Promise<object>> = {
  listWebsites: async (request) => {
    const { per_page } = request.query as { per_page: number };
    const rows = await asUser<WebsiteRow>(request.userId, 'websites', per_page);
    return websiteList(rows, rows[0]?.total ?? 0, per_page);
  },
  showWebsite: (request) => website(request.userId, 'website', idOf(request)),
  createWebsite: (request, reply) => {
    reply.code(201);
    return website(request.userId, 'create', (request.body as { domain: string }).domain);
  },
  updateWebsite: (request) => website(request.userId, 'patch', idOf(request), (request.body as { favorite: boolean }).favorite),
  showMonitor: async (request) => ({
    data: monitorOf((await asUser<MonitorRow>(request.userId, 'monitor', idOf(request)))[0] as MonitorRow),
  }),
  listIncidents: async (request) => {
    const rows = await asUser<IncidentRow>(request.userId, 'incidents', idOf(request));
    return incidentList(rows, rows[0]?.total ?? 0, idOf(request));
  },
};

const app = fastify({
  logger: true,
  ajv: { customOptions: { strict: false, coerceTypes: true, useDefaults: true, discriminator: false } },
});
await app.register(formbody);
app.decorateRequest('userId', 0);
app.addHook('onRequest', async (request, reply) => {
  const userId = await keys.userOf(request.headers.authorization);
  if (userId === undefined) return reply.code(401).type('application/problem+json').send({ title: 'Authentication required', status: 401 });
  request.userId = userId;
});
await app.register(rateLimit, {
  hook: 'preHandler',
  max: Number(process.env.BENCH_RATE_LIMIT),
  timeWindow: 60_000,
  keyGenerator: (request) => String(request.userId),
});
const notImplemented = async () => ({});
for (const [specification, prefix] of [
  [websites, '/api/v1'],
  [monitoring, '/api'],
] as const) {
  await app.register(openapiGlue, {
    specification: structuredClone(specification),
    prefix,
    operationResolver: (operationId: string) => handlers[operationId] ?? notImplemented,
  });
}
console.log(`Listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
process.once('SIGTERM', () => process.exit(0));
