// The dispatcher looks for due alerts of 1,000 users at a time. Searching takes long on the embedded database, so this runs only on
// PostgreSQL.
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { queueAlerts } from '../../faults/support/queue-alerts.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { queueForNewUsers } from './queue-for-new-users.ts';

test.runIf(process.env.TEST_DATABASE_URL)(
  'users after and before 1,200 others whose mail server hangs get alerts on another channel',
  async () => {
    const connections = new Set<Socket>();
    const mailServer = createServer((socket) => {
      connections.add(socket);
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => mailServer.listen(0, '127.0.0.1', resolve));
    const { port } = mailServer.address() as { port: number };
    const receivers = await startReceivers();
    const { delivery } = readConfig({ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'alerts@sitekeeper.example' });
    const service = await startService({ delivery }, { net: receivers.net, engine: true });
    onTestFinished(async () => {
      mailServer.close();
      for (const socket of connections) socket.destroy();
      await service.stop();
      await receivers.close();
    });

    const queueFor = async (user: TestUser, name: string) => {
      const monitor = await createMonitor(user, { is_active: false });
      const { body: provider } = await user.api.post('/api/providers', { json: receivers.providers.slack });
      const alert = { monitorId: monitor.id, providerId: provider.data.id, count: 1, name };
      await service.database.asEngine((em) => queueAlerts(em, alert));
    };
    const first = await service.createUser();
    await queueForNewUsers(service.database, 1200);
    await queueFor(await service.createUser(), 'of the last user');
    await expect.poll(() => receivers.names().slack, { timeout: 8000 }).toEqual(['of the last user']);
    // The search has passed the first user by now, and must begin again.
    await queueFor(first, 'of the first user');
    await expect.poll(() => receivers.names().slack, { timeout: 8000 }).toEqual(['of the last user', 'of the first user']);
    expect(connections.size).toBeGreaterThan(0);
  },
);
