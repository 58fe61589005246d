import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import { readConfig } from '../../src/config/config.ts';
import { hashToken } from '../../src/monitoring/checks/heartbeat/heartbeat.options.ts';
import { ApiClient } from '../support/api-client.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { type RunningMock, startMock } from '../support/mock.ts';
import { startService, type TestService } from '../support/service.ts';
import { heartbeatToken, password, type Sample, samples } from './requests.ts';

let mail: MailServer;
let service: TestService;
let mock: RunningMock;
let serviceClients: Record<Sample['as'], ApiClient>;
let mockClients: Record<Sample['as'], ApiClient>;

beforeAll(async () => {
  mail = await startMailServer();
  const { delivery } = readConfig({ SMTP_URL: `smtp://${mail.host}`, MAIL_FROM: 'alerts@sitekeeper.example' });
  [service, mock] = await Promise.all([startService({ signupOpen: true, delivery }), startMock()]);
  const user = await service.createUser(password);
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into monitors (id, user_id, friendly_name, type, grace_seconds, settings) values (1000, ?, 'Job', 'heartbeat', 60, ?::jsonb)`,
      [user.id, JSON.stringify({ token: { hash: hashToken(heartbeatToken) } })],
    ),
  );
  await service.database.asEngine((em) =>
    em.execute(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, 1000, now(), 'HTTP 503')`, [user.id]),
  );
  const { headers } = await service.anonymous.post('/api/session', { json: { email: user.email, password } });
  const cookie = headers.get('Set-Cookie')?.split(';')[0] ?? '';
  serviceClients = { key: user.api, session: new ApiClient(service.url, { Cookie: cookie }), anonymous: service.anonymous };
  mockClients = { key: mock.api, session: mock.withHeaders({ Cookie: cookie }), anonymous: mock.withHeaders({}) };
});
afterAll(async () => {
  await Promise.all([mock.stop(), service.stop(), mail.close()]);
});

// Each request relies on what the earlier ones have created.
describe('one request after the other', { shuffle: false }, () => {
  test.each(samples)('both return $status: $method $path ($operation, $as)', async ({ status, method, path, as, options }) => {
    const response = await serviceClients[as].request(method, path, options);
    expect(response.status).toBe(status);
    // The client sends the new cookie from now on, as a browser does.
    const [cookie = ''] = response.headers.get('Set-Cookie')?.split(';') ?? [];
    if (as === 'session' && cookie !== '') serviceClients.session = new ApiClient(service.url, { Cookie: cookie });
    expect((await mockClients[as].request(method, path, options)).status).toBe(status);
  });
});

test('there are at least 50 samples, including a successful one for every operation', () => {
  const declared = JSON.stringify([websites, monitoring]).match(/(?<="operationId":")\w+/g) ?? [];
  const succeeding = samples.filter(({ status }) => status < 300).map(({ operation }) => operation);
  expect(samples.length).toBeGreaterThanOrEqual(50);
  expect(declared.length).toBeGreaterThan(30);
  expect(declared.filter((operation) => !succeeding.includes(operation))).toEqual([]);
});
