// When certificates expire, and who is warned of it.
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { type Authority, createAuthority, trust } from '../../support/certificates.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { wakeAll } from '../../support/wake.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';
import { assignProvider, readAlertKinds, readMonitor } from '../heartbeats/heartbeat-monitors.ts';
import { claimOf, makeOverdue } from './due-monitors.ts';

const day = 24 * 60 * 60 * 1000;
/** A whole number of seconds, as in certificates. */
const inDays = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + days * day);

describe('warnings', () => {
  let service: TestService;
  let user: TestUser;
  let monitor: { id: number; path: string };

  beforeAll(async () => {
    service = await startService();
  });
  beforeEach(async () => {
    user = await service.createUser();
    monitor = await createMonitor(user);
    await assignProvider(user, monitor);
  });
  afterAll(() => service.stop());

  async function record(result: CheckResult, { id } = monitor) {
    await service.database.asEngine((em) => makeOverdue(em, user.id));
    const claims = await service.database.asEngine((em) => claimOf(em, user.id, 10));
    const completed = claims.filter((claim) => claim.id === id).map((claim) => ({ claim, result, startedMs: performance.now() }));
    expect(completed).toHaveLength(1);
    await service.database.asEngine((em) => recordResults(queryInTransaction(em), completed));
  }

  /** Records a check that has seen a certificate. */
  function check(expiresAt: Date, warningDays: number | null = 14, of = monitor, isUp = true) {
    const certificate = { expiresAt, warningDays };
    return record(isUp ? { up: true, responseTimeMs: 1, certificate } : { up: false, cause: 'x', statusCode: null, certificate }, of);
  }

  /** A day passes: the certificate expires in fewer days, and the last warning is a day older. */
  const moveExpiry = (expiresAt: Date) =>
    service.database.asEngine((em) =>
      em.execute(
        `update monitors set tls_expires_at = ?, tls_warned_expiry = case when tls_warned_expiry = tls_expires_at then ?::timestamptz end,
           tls_warned_at = tls_warned_at - interval '1 day' where id = ?`,
        [expiresAt, expiresAt, monitor.id],
        'run',
      ),
    );
  const passHours = (hours: number) =>
    service.database.asEngine((em) =>
      em.execute(`update monitors set tls_warned_at = tls_warned_at - ? * interval '1 hour' where id = ?`, [hours, monitor.id], 'run'),
    );

  const warnings = () => readAlertKinds(service, user);
  const statuses = async () => {
    const alerts = await service.database.asUser(user.id, (em) =>
      em.execute<{ status: string }[]>('select status from alerts order by id'),
    );
    return alerts.map(({ status }) => status);
  };

  test('one is queued for each enabled assignment when the certificate expires within the days of the option', async () => {
    await assignProvider(user, monitor);
    await assignProvider(user, monitor, false);
    await check(inDays(15));
    expect(await warnings()).toEqual([]);
    await moveExpiry(inDays(13));
    await check(inDays(13));
    expect(await warnings()).toEqual(['monitor.tls_expiring', 'monitor.tls_expiring']);
  });

  test('there is one when they begin and one on the last day, and no more', async () => {
    const counts: number[] = [];
    for (const days of [13, 12, 5, 2, 0.9, 0.1, -1]) {
      const expiresAt = inDays(days);
      await moveExpiry(expiresAt);
      for (let count = 0; count < 2; count++) await check(expiresAt);
      counts.push((await warnings()).length);
    }
    expect(counts).toEqual([1, 1, 1, 1, 2, 2, 2]);
  });

  test.each([
    [14 * 24 + 1, 0],
    [14 * 24 - 1, 1],
  ])('with 14 days, %i hours before the certificate expires there are %i', async (hours, count) => {
    await check(inDays(hours / 24));
    expect(await warnings()).toHaveLength(count);
  });

  test.each([1, 7, 30, 365])('with %i days they begin then, and not before', async (days) => {
    const anHour = 1 / 24;
    await check(inDays(days + anHour), days);
    expect(await warnings()).toEqual([]);
    await check(inDays(days - anHour), days);
    expect(await warnings()).toEqual(['monitor.tls_expiring']);
  });

  test.each([
    [25, 1],
    [23, 2],
    [2, 2],
  ])('after the first one, %i hours before the certificate expires there are %i', async (hours, count) => {
    await check(inDays(13));
    const expiresAt = inDays(hours / 24);
    await moveExpiry(expiresAt);
    await check(expiresAt);
    expect(await warnings()).toHaveLength(count);
  });

  test('a certificate that is seen for the first time on its last day causes one', async () => {
    const expiresAt = inDays(0.5);
    for (let count = 0; count < 3; count++) await check(expiresAt);
    expect(await warnings()).toHaveLength(1);
  });

  test('a new certificate causes them again', async () => {
    await check(inDays(5));
    await check(inDays(90));
    expect(await warnings()).toHaveLength(1);
    await passHours(24);
    await check(inDays(6));
    expect(await warnings()).toHaveLength(2);
  });

  test('servers of one host with different certificates cause one for each certificate, however often they alternate', async () => {
    const [first, second] = [inDays(5), inDays(6)];
    for (let count = 0; count < 4; count++) {
      for (const expiresAt of [first, second]) await check(expiresAt);
      await passHours(24);
    }
    expect(await warnings()).toHaveLength(2);
  });

  test.each([
    [19, 1],
    [21, 2],
  ])('a target that shows a new certificate with every check causes one a day: after %i hours there are %i', async (hours, count) => {
    for (const days of [5, 5.01, 5.02]) await check(inDays(days));
    expect(await warnings()).toHaveLength(1);
    await passHours(hours);
    for (const days of [5.03, 5.04, 5.05]) await check(inDays(days));
    expect(await warnings()).toHaveLength(count);
  });

  test('a certificate that replaces one with a later end causes one on its last day', async () => {
    await check(inDays(10));
    await passHours(24);
    await check(inDays(5));
    expect(await warnings()).toHaveLength(1);
    const expiresAt = inDays(0.9);
    for (let count = 0; count < 2; count++) await check(expiresAt);
    expect(await warnings()).toHaveLength(2);
    await passHours(24);
    await check(expiresAt);
    expect(await warnings()).toHaveLength(2);
  });

  test.each([
    [25, 1],
    [23, 2],
  ])('after one of a certificate with a later end, %i hours before the certificate expires there are %i', async (hours, count) => {
    await check(inDays(10));
    await passHours(24);
    await check(inDays(hours / 24));
    expect(await warnings()).toHaveLength(count);
  });

  test('a certificate that has expired causes none after one with a later end', async () => {
    await check(inDays(10));
    await passHours(24);
    await check(inDays(-0.1));
    expect(await warnings()).toHaveLength(1);
  });

  test.each([
    ['other options', { http: { expected_status: ['2xx', '3xx'] } }],
    ['a pause', { is_active: false }],
    ['a new name', { friendly_name: 'x' }],
  ])('one that waits to be sent survives %s', async (_, json) => {
    await check(inDays(5));
    expect((await user.api.put(monitor.path, { json })).status).toBe(200);
    expect(await statuses()).toEqual(['queued']);
  });

  test('one that waits to be sent is canceled by another target, which is warned of again', async () => {
    await check(inDays(5));
    expect((await user.api.put(monitor.path, { json: { url: 'https://other.example/' } })).status).toBe(200);
    expect(await statuses()).toEqual(['suppressed']);
    await check(inDays(4));
    expect(await statuses()).toEqual(['suppressed', 'queued']);
  });

  test('with null there are none', async () => {
    for (const days of [13, 0.5, -1]) await check(inDays(days), null);
    expect(await warnings()).toEqual([]);
  });

  test('a failed check causes them as well', async () => {
    await check(inDays(5), 14, monitor, false);
    expect(await warnings()).toEqual(['monitor.tls_expiring']);
  });

  test('they wait for the end of a maintenance', async () => {
    await user.api.put(monitor.path, { json: { maintenance_until: inDays(1).toISOString() } });
    const expiresAt = inDays(5);
    await check(expiresAt);
    expect(await warnings()).toEqual([]);
    await user.api.put(monitor.path, { json: { maintenance_until: null } });
    await check(expiresAt);
    expect(await warnings()).toEqual(['monitor.tls_expiring']);
  });

  test('a maintenance that is over does not prevent them', async () => {
    await service.database.asUser(user.id, (em) =>
      em.execute(`update monitors set maintenance_until = now() - interval '1 hour'`, [], 'run'),
    );
    await check(inDays(5));
    expect(await warnings()).toEqual(['monitor.tls_expiring']);
  });

  test('a monitor whose only assignment is disabled has none until that is enabled', async () => {
    const other = await createMonitor(user);
    const provider_id = await assignProvider(user, other, false);
    const expiresAt = inDays(5);
    await check(expiresAt, 14, other);
    expect(await warnings()).toEqual([]);
    await user.api.post(`${other.path}/notifications`, { json: { provider_id, enabled: true } });
    await check(expiresAt, 14, other);
    expect(await warnings()).toEqual(['monitor.tls_expiring']);
  });

  test('a monitor without a provider has none until one is assigned, but comes before those without a warning', async () => {
    const [other, expiring] = [await createMonitor(user), await createMonitor(user)];
    const expiresAt = inDays(5);
    for (let count = 0; count < 2; count++) await check(expiresAt, 14, expiring);
    await check(inDays(90), 14, other);
    expect(await warnings()).toEqual([]);
    const { body } = await user.api.get('/api/monitors?sort=worst_first&status=up');
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([expiring.id, other.id]);
    await assignProvider(user, expiring);
    for (let count = 0; count < 2; count++) await check(expiresAt, 14, expiring);
    expect(await warnings()).toEqual(['monitor.tls_expiring']);
  });

  test('the deletion of the monitor deletes them', async () => {
    await check(inDays(5));
    await user.api.delete(monitor.path);
    expect(await warnings()).toEqual([]);
  });

  test.each([
    ['url', { url: 'https://other.example/' }],
    ['type', { type: 'ping' }],
  ])('another %s forgets the certificate, and other settings do not', async (_, json) => {
    await check(inDays(5));
    const { tls_expires_at } = await readMonitor(user, monitor);
    await user.api.put(monitor.path, { json: { friendly_name: 'Other', http: { tls_warning_days: 10 } } });
    expect(await readMonitor(user, monitor)).toMatchObject({ tls_expires_at });
    expect((await user.api.put(monitor.path, { json })).status).toBe(200);
    expect(await readMonitor(user, monitor)).toMatchObject({ tls_expires_at: null });
  });

  test.each([
    ['another path', 'https://shop.example/other', true],
    ['another port', 'https://shop.example:8443/', false],
    ['http', 'http://shop.example/', false],
    ['another host without slashes before it', 'https:other.example', false, 'https:shop.example'],
    ['another host after backslashes', 'https:\\\\other.example\\', false, 'https:\\\\shop.example\\'],
  ])('a url with %s keeps the warnings of its server: %s, %s', async (_, url, keeps, before = 'https://shop.example/first?a=1') => {
    await user.api.put(monitor.path, { json: { url: before } });
    await check(inDays(5));
    const { tls_expires_at } = await readMonitor(user, monitor);
    await user.api.put(monitor.path, { json: { url } });
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'pending', tls_expires_at: keeps ? tls_expires_at : null });
    await check(inDays(5));
    expect(await warnings()).toHaveLength(keeps ? 1 : 2);
  });

  test.each([
    ['later', 6],
    ['sooner', 3],
  ])('another url causes one at once, also if its certificate expires %s', async (_, days) => {
    await check(inDays(5));
    await user.api.put(monitor.path, { json: { url: 'https://other.example/' } });
    await check(inDays(days));
    expect(await warnings()).toHaveLength(2);
  });

  test('a check that sees no certificate keeps the time at which the last one expires', async () => {
    const expiresAt = inDays(40);
    await check(expiresAt);
    await record({ up: false, cause: 'connection refused', statusCode: null });
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up', tls_expires_at: expiresAt.toISOString() });
  });

  test('a warning that was not sent is canceled when the url changes, as it is about another target', async () => {
    await check(inDays(5));
    await user.api.put(monitor.path, { json: { url: 'https://other.example/' } });
    const alerts = await service.database.asUser(user.id, (em) => em.execute('select status from alerts'));
    expect(alerts).toEqual([{ status: 'suppressed' }]);
  });

  test('monitors with a warning come after those that are down, and before all others', async () => {
    const [up, down] = [await createMonitor(user), await createMonitor(user, { confirmations: 0 })];
    const pending = await createMonitor(user);
    await check(inDays(90), 14, up);
    await check(inDays(90), 14, down, false);
    await check(inDays(5));
    const { body } = await user.api.get('/api/monitors?sort=worst_first');
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([down.id, monitor.id, pending.id, up.id]);
  });
});

describe('checks of real servers', () => {
  let receivers: Awaited<ReturnType<typeof startReceivers>>;
  let authority: Authority;
  let service: TestService;
  let user: TestUser;

  beforeAll(async () => {
    authority = await createAuthority();
    trust(authority);
    receivers = await startReceivers();
    service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
    user = await service.createUser();
  });
  afterAll(async () => {
    await service.stop();
    await receivers.close();
  });

  async function startTarget(days: number, script: WebServer['script'] = scripts.respond()) {
    const expiresAt = inDays(days);
    const certificate = await authority.issue('shop.example', { from: inDays(-10), to: expiresAt });
    const server = await startWebServer({ host: receivers.externalAddress, certificate, script });
    onTestFinished(() => server.close());
    return { url: `https://shop.example:${server.port}/`, expiresAt: expiresAt.toISOString() };
  }

  /** Creates a monitor and waits for the result of its first check. */
  async function checkOnce(url: string, fields: object = {}) {
    const monitor = await createMonitor(user, { url, confirmations: 0, ...fields });
    await wakeAll(service.database);
    await waitForCheck(monitor, null);
    return readMonitor(user, monitor);
  }

  /** Waits until a monitor was checked again. */
  async function waitForCheck(monitor: { path: string }, last: string | null) {
    await expect.poll(async () => (await readMonitor(user, monitor)).last_checked_at, { timeout: 20_000 }).not.toBe(last);
  }

  test('record when the certificate expires', async () => {
    const { url, expiresAt } = await startTarget(40);
    expect(await checkOnce(url)).toMatchObject({ status: 'up', tls_expires_at: expiresAt });
  });

  test('record it if the response is not as expected', async () => {
    const { url, expiresAt } = await startTarget(40, scripts.respond('broken', 503));
    expect(await checkOnce(url)).toMatchObject({ status: 'down', last_error: 'HTTP 503', tls_expires_at: expiresAt });
  });

  test('record it if the certificate has expired', async () => {
    const { url, expiresAt } = await startTarget(-1);
    expect(await checkOnce(url)).toMatchObject({ status: 'down', tls_expires_at: expiresAt });
  });

  test('record it if the certificate need not be valid', async () => {
    const { url, expiresAt } = await startTarget(-1);
    expect(await checkOnce(url, { http: { verify_tls: false } })).toMatchObject({ status: 'up', tls_expires_at: expiresAt });
  });

  test('record that of the first server, and not that of a redirect', async () => {
    const other = await startTarget(20);
    const { url, expiresAt } = await startTarget(40, scripts.redirect(other.url));
    expect(await checkOnce(url)).toMatchObject({ status: 'up', tls_expires_at: expiresAt });
  });

  test('record none for http, also if it redirects to https', async () => {
    const other = await startTarget(20);
    const server = await startWebServer({ host: receivers.externalAddress, script: scripts.redirect(other.url) });
    onTestFinished(() => server.close());
    expect(await checkOnce(`http://shop.example:${server.port}/`)).toMatchObject({ status: 'up', tls_expires_at: null });
  });

  test.each([
    [7, 30, 1],
    [7, 19, 0],
  ])('warn 20 days before if the option changes from %i to %i days: %i', async (before, after, count) => {
    const { url } = await startTarget(20);
    const monitor = await createMonitor(user, { url, http: { tls_warning_days: before } });
    await assignProvider(user, monitor);
    const countWarnings = async () => {
      const alerts = await service.database.asUser(user.id, (em) => em.execute('select from alerts where monitor_id = ?', [monitor.id]));
      return alerts.length;
    };
    await wakeAll(service.database);
    await waitForCheck(monitor, null);
    expect(await countWarnings()).toBe(0);
    const { last_checked_at } = await readMonitor(user, monitor);
    expect((await user.api.put(monitor.path, { json: { http: { tls_warning_days: after } } })).status).toBe(200);
    expect((await user.api.post(`${monitor.path}/check`)).status).toBe(202);
    await waitForCheck(monitor, last_checked_at);
    expect(await countWarnings()).toBe(count);
  });

  test('warn with a message that names the monitor and the time', async () => {
    const { url, expiresAt } = await startTarget(5);
    const monitor = await createMonitor(user, { url, is_active: false });
    const provider = (await user.api.post('/api/providers', { json: receivers.providers.telegram })).body.data;
    await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: provider.id } });
    await user.api.put(monitor.path, { json: { is_active: true } });
    await expect.poll(() => receivers.received().telegram, { timeout: 20_000 }).toHaveLength(1);
    const [text = ''] = receivers.received().telegram;
    expect(text).toContain('<b>⚠️ Certificate expires in 5 days: Shop</b>');
    expect(text).toContain(`, ${expiresAt.slice(11, 16)} UTC`);
  });
});
