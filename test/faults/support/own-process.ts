import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKey } from '../../../src/access/api-key.ts';
import { ApiClient } from '../../support/api-client.ts';
import { createDatabase, urlOf } from '../../support/database.ts';
import { listening, run } from '../../support/process.ts';

/** The service as a process of its own, on PostgreSQL, so that what it uses is its alone. */
export async function startOwnProcess() {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-faults-'));
  const database = await createDatabase();
  const [key, metricsToken] = [generateKey(), 'metrics-of-the-test'];
  const running = run(folder, {
    PORT: '0',
    DATABASE_URL: urlOf(database),
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    OWNER_API_KEY: key,
    METRICS_TOKEN: metricsToken,
    RATE_LIMIT_PER_MINUTE: '1000000',
  });
  const url = await listening(running);
  return {
    url,
    authorization: `Authorization: Bearer ${key}`,
    api: new ApiClient(url, { Authorization: `Bearer ${key}` }),
    async residentBytes(): Promise<number> {
      const metrics = await (await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${metricsToken}` } })).text();
      return Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]);
    },
    async stop() {
      running.child.kill('SIGTERM');
      await running.ended;
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}
