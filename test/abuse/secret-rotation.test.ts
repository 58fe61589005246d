// An operator replaces the key that encrypts the tokens and webhook URLs of users.
import { randomBytes } from 'node:crypto';
import { expect, inject } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { Deployment, type RunningService } from '../faults/support/deployment.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { scripts, startWebServer } from '../support/web-server.ts';

const isEmbedded = 'snapshot' in inject('source');
const count = 40;

guarantee(
  15,
  'After `sitekeeper secrets rotate` every secret works with the new key alone',
  async () => {
    const database = isEmbedded ? undefined : await createDatabase();
    const telegram = await startWebServer({ script: scripts.respond('{"ok":true,"result":{"message_id":1}}') });
    const [oldKey, newKey, nextKey] = [1, 2, 3].map(() => randomBytes(32).toString('base64')) as [string, string, string];
    const bothKeys = `${newKey},${oldKey}`;
    const server: Record<string, string> = database ? { DATABASE_URL: urlOf(database) } : {};
    const deployment = await Deployment.create({ ...server, TELEGRAM_API_URL: telegram.url });
    const serve = (SECRET_KEY: string) => deployment.serve({ SECRET_KEY }, ['serve', '--no-engine']);
    const stop = async ({ child, ended }: RunningService) => {
      child.kill('SIGINT');
      expect(await ended).toBe(0);
    };
    const secrets = (SECRET_KEY: string, ...args: string[]) =>
      runCommand(deployment.folder, ['secrets', ...args], { settings: { ...server, SECRET_KEY } });
    const tokenOf = (n: number) => `123456:${String(n).padStart(30, 'x')}`;
    try {
      let service = await serve(oldKey);
      const ids: number[] = [];
      for (let n = 0; n < count; n++) {
        const { body } = await service.api.post('/api/providers', {
          json: { provider_type: 'telegram', chat_id: '1', token: tokenOf(n) },
        });
        ids.push(body.data.id);
      }
      await stop(service);

      service = await serve(bothKeys);
      const start = performance.now();
      const rotating = secrets(bothKeys, 'rotate');
      const expected = new Map(ids.map((id, n) => [id, tokenOf(n)]));
      // Users change their tokens in the meantime. None of these changes may be lost.
      for (const [n, id] of ids.entries()) {
        if (n % 4 !== 0) continue;
        expected.set(id, tokenOf(1000 + n));
        expect((await service.api.put(`/api/providers/${id}`, { json: { token: tokenOf(1000 + n) } })).status).toBe(200);
      }
      const rotated = await rotating;
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      expect([rotated.code, rotated.printed]).toEqual([
        0,
        expect.stringMatching(/Older keys can be removed from SECRET_KEY after 24 hours\.\n$/),
      ]);
      expect((await secrets(bothKeys, 'rotate')).printed).toMatch(/^Nothing to do: every secret uses the key \w{8}\./);
      await stop(service);

      service = await serve(newKey);
      for (const id of [ids[0], ids[1], ids.at(-1)] as number[]) {
        expect((await service.api.post(`/api/providers/${id}/test`)).status).toBe(200);
        expect(telegram.requests.at(-1)?.path).toBe(`/bot${expected.get(id)}/sendMessage`);
      }
      await stop(service);
      expect((await secrets(newKey, 'status')).printed).toMatch(new RegExp(`^\\w{8}: ${count} secrets, the newest key\\n$`));
      // Rotating again decrypts every secret with the new key.
      expect((await secrets(`${nextKey},${newKey}`, 'rotate')).code).toBe(0);
      return `${count} secrets in ${seconds} s while serving, 10 of them changed meanwhile; test notifications sent with the new key alone`;
    } finally {
      await deployment.remove();
      await telegram.close();
      await database?.close();
    }
  },
  240_000,
);
