import { afterAll, beforeAll, expect, test } from 'vitest';
import { Configuration } from '../../../generated/client/src/index.ts';
import { startMock } from '../../support/mock.ts';
import { lifeOfAMonitor, lifeOfAWebsite } from './lives.ts';

let mock: Awaited<ReturnType<typeof startMock>>;
let configuration: Configuration;

beforeAll(async () => {
  mock = await startMock();
  configuration = new Configuration({ basePath: mock.url, accessToken: 'any' });
});
afterAll(() => mock.stop());

test('the calls of a website are answered by the mock, too', async () => {
  const { created, listed, verdict, deleted } = await lifeOfAWebsite(configuration);
  expect(created).toMatchObject({ id: expect.any(Number), created_at: expect.any(Date) });
  expect(listed.data[0]?.updated_at).toBeInstanceOf(Date);
  expect(verdict.opens).toBe(true);
  expect(deleted.deleted).toBe(true);
});

test('so are those of a monitor', async () => {
  const life = await lifeOfAMonitor(configuration, { provider_type: 'sms', phone_number: '+4915112345678' });
  expect(life.created).toMatchObject({ id: expect.any(Number), created_at: expect.any(Date) });
  expect(life.incidents.data[0]?.started_at).toBeInstanceOf(Date);
  expect(life.deleted.deleted).toBe(true);
});
