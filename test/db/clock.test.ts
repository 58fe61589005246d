import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDir as freshCluster } from '@electric-sql/pglite-prepopulatedfs';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { Authenticator } from '../../src/auth/authenticator.ts';
import { type MovableDatabase, migrateEmbedded, openOnPglite, startPglite } from '../../src/db/embedded.ts';
import { entities } from '../../src/entities.ts';
import { borrowPglite } from '../support/pglite-pool.ts';
import { startService, type TestService } from '../support/service.ts';

const dayMs = 24 * 60 * 60 * 1000;
const second = 1000;

describe('the clock of the database', () => {
  let database: MovableDatabase;
  let service: TestService;

  beforeAll(async () => {
    const source = inject('source');
    const pglite = 'snapshot' in source ? await borrowPglite(source.snapshot) : await startPglite({ loadDataDir: await freshCluster() });
    if (!('snapshot' in source)) await migrateEmbedded(pglite);
    database = await openOnPglite(pglite, entities);
    service = await startService({}, { database });
  });
  afterAll(() => service.stop());

  const skew = (iso: string) => Math.abs(Date.parse(iso) - database.now());

  test('is the clock of the machine until it is moved', () => {
    expect(Math.abs(database.now() - Date.now())).toBeLessThan(10 * second);
  });

  test('decides what is stored and compared', async () => {
    const user = await service.createUser();
    const expires_at = new Date(Date.now() + dayMs).toISOString();
    const { body: key } = await user.api.post('/api/keys', { json: { name: 'A day', scopes: ['monitors:read'], expires_at } });
    const authorization = [`Bearer ${key.data.key}`];
    const authenticator = await Authenticator.create(database, { warn() {} } as never);
    const authenticate = () => authenticator.authenticate({ authorization }, { acceptsKeys: true });
    expect(await authenticate()).toMatchObject({ userId: user.id });

    await database.moveClock(2 * dayMs);
    onTestFinished(() => database.moveClock(0));
    expect(Math.abs(database.now() - Date.now() - 2 * dayMs)).toBeLessThan(10 * second);
    await expect(authenticate()).rejects.toThrow(/expired|revoked/);
    const again = await user.api.post('/api/keys', { json: { name: 'Past', scopes: ['monitors:read'], expires_at } });
    expect([again.status, again.body.errors[0].code]).toEqual([422, 'not_in_future']);

    const { body: website } = await user.api.post('/api/v1/websites', { form: { domain: 'later.example' } });
    const { body: changed } = await user.api.patch(`/api/v1/websites/${website.data.id}`, { form: { favorite: '1' } });
    const { body: monitor } = await user.api.post('/api/monitors', { json: { friendly_name: 'M', url: 'https://later.example' } });
    for (const time of [website.data.created_at, changed.data.updated_at, monitor.data.created_at]) {
      expect(skew(time)).toBeLessThan(60 * second);
    }
  });

  test('no default and no function of the database uses another clock', async () => {
    const uses = await database.asAuthenticator((em) =>
      em.execute<{ name: string }[]>(
        `select adrelid::regclass || ' default' as name from pg_attrdef where pg_get_expr(adbin, adrelid) ~ '\\m(now|clock_timestamp)\\(|CURRENT_TIMESTAMP'
         union all
         select proname::text from pg_proc where pronamespace = 'public'::regnamespace and proname <> 'app_now'
            and prosrc ~ '\\m(now|clock_timestamp)\\(|CURRENT_TIMESTAMP'`,
      ),
    );
    // MikroORM creates this table.
    expect(uses).toEqual([{ name: 'migrations default' }]);
  });
});

test('no statement in the code uses another clock', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const uses = files.filter((file) => /(?<![\w.])(now|clock_timestamp)\(\)|\bcurrent_timestamp\b/i.test(sqlIn(join('src', file))));
  expect(uses).toEqual([]);
});

/** The texts in backquotes and quotes. */
function sqlIn(file: string): string {
  const code = readFileSync(file, 'utf8').replace(/^\s*(\/\/|\/?\*).*$/gm, '');
  return [...code.matchAll(/`[^`]*`|'[^'\n]*'/g)].join('\n');
}
