// A peer: Express with express-openapi-validator and Sequelize. It does the same work as the service: API key, rate limit,
// row-level security in a transaction, a log line per request.
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import * as OpenApiValidator from 'express-openapi-validator';
import { rateLimit } from 'express-rate-limit';
import pg from 'pg';
import { pinoHttp } from 'pino-http';
import { DataTypes, type Model, Op, Sequelize, type Transaction } from 'sequelize';
import monitoring from '../../../generated/monitoring.json' with { type: 'json' };
import websites from '../../../generated/websites.json' with { type: 'json' };
import { Keys } from './keys.ts';
import { type IncidentRow, incidentList, type MonitorRow, monitorOf, type WebsiteRow, websiteList, websiteOf } from './rows.ts';

const url = process.env.BENCH_DATABASE_URL ?? '';
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const options = '-c role=sitekeeper_app';
const keys = new Keys(new pg.Pool({ connectionString: url, max: 2, options }));
const sequelize = new Sequelize(url, { logging: false, pool: { max: 10, min: 0 }, dialectOptions: { options } });

const id = { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true };
const [text, whole, time, flag] = [DataTypes.TEXT, DataTypes.INTEGER, DataTypes.DATE, DataTypes.BOOLEAN];
const define = <Row extends object>(name: string, attributes: object) =>
  sequelize.define<Model<Row> & Row>(name, attributes as never, { tableName: name, timestamps: false });
const User = define<{ website_count: number }>('users', { id, website_count: whole });
const Website = define<WebsiteRow & { user_id: number; version: number }>('websites', {
  id,
  user_id: DataTypes.BIGINT,
  domain: text,
  privacy: whole,
  password_hash: text,
  email: whole,
  exclude_bots: whole,
  exclude_params: text,
  exclude_ips: text,
  favorite: flag,
  version: whole,
  created_at: time,
  updated_at: time,
});
const Monitor = define<MonitorRow>('monitors', {
  id,
  friendly_name: text,
  url: text,
  type: text,
  interval_seconds: whole,
  is_active: flag,
  status: text,
  last_checked_at: time,
  last_response_time_ms: whole,
  last_error: text,
  created_at: time,
  updated_at: time,
});
const Incident = define<IncidentRow>('incidents', {
  id,
  monitor_id: DataTypes.BIGINT,
  started_at: time,
  resolved_at: time,
  cause: text,
  status_code: whole,
});

function asUser<T>(userId: number, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return sequelize.transaction(async (transaction) => {
    await sequelize.query(`select set_config('app.user_id', $1, true)`, { bind: [String(userId)], transaction });
    return work(transaction);
  });
}

type AuthenticatedRequest = Request & { userId: number };
const app = express();
app.use(pinoHttp());
app.use(async (request: Request, response: Response, next: NextFunction) => {
  const userId = await keys.userOf(request.headers.authorization);
  if (userId === undefined)
    return void response.status(401).type('application/problem+json').json({ title: 'Authentication required', status: 401 });
  (request as AuthenticatedRequest).userId = userId;
  next();
});
app.use(
  rateLimit({
    windowMs: 60_000,
    limit: Number(process.env.BENCH_RATE_LIMIT),
    standardHeaders: 'draft-8',
    keyGenerator: (request) => String((request as AuthenticatedRequest).userId),
  }),
);
app.use(express.json(), express.urlencoded({ extended: false }));
const validators = [websites, monitoring].map((document) => {
  // The validator's Ajv would treat an id inside links as the id of a schema.
  const apiSpec = { ...withoutLinks(document), servers: [{ url: new URL(document.servers[0]?.url ?? '').pathname }] };
  return express
    .Router()
    .use(OpenApiValidator.middleware({ apiSpec: apiSpec as never, validateSecurity: false, validateRequests: { coerceTypes: true } }));
});
app.use((request, response, next) => validators[request.path.startsWith('/api/v1/') ? 0 : 1]?.(request, response, next));

app.get('/api/v1/websites', async (request, response) => {
  const perPage = Number(request.query.per_page);
  const { userId } = request as unknown as AuthenticatedRequest;
  const [rows, total] = await asUser(userId, async (transaction) => [
    await Website.findAll({ where: { user_id: userId }, order: [['id', 'desc']], limit: perPage, transaction }),
    (await User.findByPk(userId, { transaction }))?.website_count ?? 0,
  ]);
  response.json(websiteList(rows, total, perPage));
});
app.post('/api/v1/websites', async (request, response) => {
  const { userId } = request as unknown as AuthenticatedRequest;
  const values = { user_id: userId, domain: request.body.domain };
  const website = await asUser(userId, (transaction) =>
    Website.create(values as never, { transaction, fields: ['user_id', 'domain'], returning: true }),
  );
  response.status(201).json({ data: websiteOf(website) });
});
app.get('/api/v1/websites/:id', async (request, response) => {
  const { userId } = request as unknown as AuthenticatedRequest;
  const website = await asUser(userId, (transaction) =>
    Website.findOne({ where: { user_id: userId, id: request.params.id }, transaction }),
  );
  response.json({ data: websiteOf(website as WebsiteRow) });
});
app.patch('/api/v1/websites/:id', async (request, response) => {
  const { userId } = request as unknown as AuthenticatedRequest;
  const website = await asUser(userId, async (transaction) => {
    const found = await Website.findOne({ where: { user_id: userId, id: request.params.id }, transaction, lock: true });
    return found?.update({ favorite: request.body.favorite, version: found.version + 1, updated_at: new Date() }, { transaction });
  });
  response.json({ data: websiteOf(website as WebsiteRow) });
});
app.get('/api/monitors/:id', async (request, response) => {
  const { userId } = request as unknown as AuthenticatedRequest;
  const monitor = await asUser(userId, (transaction) => Monitor.findOne({ where: { id: request.params.id }, transaction }));
  response.json({ data: monitorOf(monitor as MonitorRow) });
});
app.get('/api/monitors/:id/incidents', async (request, response) => {
  const { userId } = request as unknown as AuthenticatedRequest;
  const since = new Date(Date.now() - 365 * 24 * 3600 * 1000);
  const { rows, count } = await asUser(userId, (transaction) =>
    Incident.findAndCountAll({
      where: { monitor_id: request.params.id, [Op.or]: [{ resolved_at: null }, { resolved_at: { [Op.gt]: since } }] } as never,
      order: [
        ['started_at', 'desc'],
        ['id', 'desc'],
      ],
      limit: 100,
      transaction,
    }),
  );
  response.json(incidentList(rows, count, Number(request.params.id)));
});
app.use((error: Error & { status?: number }, _: Request, response: Response, _next: NextFunction) => {
  response.status(error.status ?? 500).json({ title: error.message, status: error.status ?? 500 });
});
function withoutLinks(document: object): object {
  return JSON.parse(JSON.stringify(document), (key, value) => (key === 'links' ? undefined : value));
}

const server = app.listen(0, '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.once('SIGTERM', () => process.exit(0));
