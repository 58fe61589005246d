// Workers are separate processes here, which need a database on a server. They are killed at random times.
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { urlOf } from '../../support/database.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { type RunningProcess, run } from '../../support/process.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor, createProvider } from '../factories.ts';

describe.runIf(process.env.TEST_DATABASE_URL)('killed workers', () => {
  let service: TestService;
  let user: TestUser;
  let target: WebServer;
  let mail: MailServer;
  const workers: RunningProcess[] = [];

  beforeAll(async () => {
    mail = await startMailServer();
    target = await startWebServer();
    service = await startService({ netAllow: ['127.0.0.0/8'] });
    user = await service.createUser();
  });
  afterAll(async () => {
    for (const worker of workers) await kill(worker);
    await service.stop();
    await target.close();
    await mail.close();
  });

  function startWorker(): RunningProcess {
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

  async function kill({ child, ended }: RunningProcess) {
    child.kill('SIGKILL');
    await ended;
  }

  const waitUntilStarted = (worker: RunningProcess) => expect.poll(() => worker.printed(), { timeout: 20_000 }).toContain('Engine started');

  /** Starts and kills this many workers, one after the other, each after a random time. Returns a further one that keeps running. */
  async function killAtRandom(kills: number): Promise<RunningProcess> {
    for (let count = 0; count < kills; count++) {
      const worker = startWorker();
      await waitUntilStarted(worker);
      await delay(Math.random() * 1500);
      await kill(worker);
      // The leases of the killed worker expire after 30 or 60 seconds. The test does not wait for that.
      await service.database.asEngine(async (em) => {
        await em.execute(`update monitors set next_check_at = now() where claim_token is not null`, [], 'run');
        await em.execute(`update alerts set next_attempt_at = now() where status = 'queued' and lease_token is not null`, [], 'run');
      });
    }
    return startWorker();
  }

  test('ten killed workers cause one incident and lose no alert', async () => {
    const { path } = await createMonitor(user, { url: target.url });
    const provider = await createProvider(user);
    await user.api.post(`${path}/notifications`, { json: { provider_id: provider.id } });
    const status = async () => (await user.api.get(path)).body.data.status;
    const down = 'Down: Shop (503 Service Unavailable, expected 2xx)';
    const recovered = expect.stringMatching(/^Recovered: Shop, was down \d+ s$/);
    const subjects = () => mail.mails.map(({ parsed }) => parsed.subject);

    target.script = scripts.respond('broken', 503);
    const firstSurvivor = await killAtRandom(5);
    await expect.poll(status, { timeout: 40_000, interval: 250 }).toBe('down');
    await expect.poll(subjects, { timeout: 40_000 }).toContain(down);
    await kill(firstSurvivor);

    target.script = scripts.respond();
    await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
    const secondSurvivor = await killAtRandom(5);
    await expect.poll(status, { timeout: 40_000, interval: 250 }).toBe('up');
    await expect.poll(subjects, { timeout: 40_000 }).toContainEqual(recovered);

    expect((await user.api.get(`${path}/incidents`)).body.data).toEqual([
      expect.objectContaining({ status: 'resolved', cause: 'HTTP 503' }),
    ]);
    // An alert that was sent but not recorded is sent again, with the same Message-ID.
    const subjectsById = new Map(mail.mails.map(({ parsed }) => [parsed.messageId, parsed.subject]));
    expect([...subjectsById.values()].toSorted()).toEqual([down, recovered]);
    const order = subjects();
    expect(order.lastIndexOf(down)).toBeLessThan(order.findIndex((subject) => subject?.startsWith('Recovered: ')));

    await waitUntilStarted(secondSurvivor);
    secondSurvivor.child.kill('SIGTERM');
    expect(await secondSurvivor.ended).toBe(0);
  }, 300_000);
});
