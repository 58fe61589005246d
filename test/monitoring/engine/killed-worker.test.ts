// On PostgreSQL only: workers are processes of their own, killed at moments that nobody chose.
import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { urlOf } from '../../support/database.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { type Running, run } from '../../support/process.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';

describe.runIf(process.env.TEST_DATABASE_URL)('a worker that is killed', () => {
  let service: TestService;
  let user: TestUser;
  let target: WebServer;
  let mail: MailServer;
  const workers: Running[] = [];

  beforeAll(async () => {
    mail = await startMailServer();
    target = await startWebServer();
    service = await startService({ netAllow: ['127.0.0.0/8'] });
    user = await service.createUser();
  });
  afterAll(async () => {
    for (const { child, ended } of workers) {
      child.kill('SIGKILL');
      await ended;
    }
    await service.stop();
    await target.close();
    await mail.close();
  });

  function startWorker(): Running {
    const worker = run(
      tmpdir(),
      {
        DATABASE_URL: urlOf(service.database),
        SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
        NET_ALLOW: '127.0.0.0/8',
        SMTP_URL: `smtp://${mail.host}`,
        MAIL_FROM: 'alerts@sitekeeper.example',
      },
      ['worker'],
    );
    workers.push(worker);
    return worker;
  }

  /** Runs workers that are killed after a random while, `kills` times, then one that stays. */
  async function killAtRandom(kills: number): Promise<Running> {
    for (let kill = 0; kill < kills; kill++) {
      const worker = startWorker();
      await expect.poll(() => worker.printed(), { timeout: 20_000 }).toContain('The engine runs');
      await pause(Math.random() * 1500);
      worker.child.kill('SIGKILL');
      await worker.ended;
      // What it had taken on is another worker's after the lease of half a minute, or of a minute; here it is at once.
      await service.database.asEngine(async (em) => {
        await em.execute(`update monitors set next_check_at = now() where claim_token is not null`, [], 'run');
        await em.execute(`update alerts set next_attempt_at = now() where status = 'pending' and lease_token is not null`, [], 'run');
      });
    }
    return startWorker();
  }

  test('ten times leads to one incident, and loses no alert', async () => {
    const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: target.url } });
    const { id } = body.data;
    const provider = await user.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } });
    await user.api.post(`/api/monitors/${id}/notifications`, { json: { provider_id: provider.body.data.id } });
    const status = async () => (await user.api.get(`/api/monitors/${id}`)).body.data.status;
    const dueNow = () => service.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
    const subjects = () => mail.mails.map(({ parsed }) => parsed.subject);

    target.script = scripts.accept('broken', 503);
    let last = await killAtRandom(5);
    await expect.poll(status, { timeout: 40_000, interval: 250 }).toBe('down');
    await expect.poll(subjects, { timeout: 40_000 }).toContain('DOWN: Shop');
    last.child.kill('SIGKILL');
    await last.ended;

    target.script = scripts.accept();
    await dueNow();
    last = await killAtRandom(5);
    await expect.poll(status, { timeout: 40_000, interval: 250 }).toBe('up');
    await expect.poll(subjects, { timeout: 40_000 }).toContain('UP: Shop');

    expect((await user.api.get(`/api/monitors/${id}/incidents`)).body.data).toEqual([
      expect.objectContaining({ status: 'resolved', cause: 'HTTP 503' }),
    ]);
    // A repeat carries the Message-ID of the first.
    const ids = new Map(mail.mails.map(({ parsed }) => [parsed.messageId, parsed.subject]));
    expect([...ids.values()].toSorted()).toEqual(['DOWN: Shop', 'UP: Shop']);
    const order = subjects();
    expect(order.lastIndexOf('DOWN: Shop')).toBeLessThan(order.indexOf('UP: Shop'));

    await expect.poll(() => last.printed(), { timeout: 20_000 }).toContain('The engine runs');
    last.child.kill('SIGTERM');
    expect(await last.ended).toBe(0);
  }, 300_000);
});
