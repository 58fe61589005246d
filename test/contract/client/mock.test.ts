import { afterAll, beforeAll, expect, test } from 'vitest';
import { Configuration } from '../../../generated/client/src/index.ts';
import { startMock } from '../../support/mock.ts';
import { monitorLifecycle, websiteLifecycle } from './lifecycles.ts';

let mock: Awaited<ReturnType<typeof startMock>>;
let configuration: Configuration;

beforeAll(async () => {
  mock = await startMock();
  configuration = new Configuration({ basePath: mock.url, accessToken: 'any' });
});
afterAll(() => mock.stop());

test('the client can use every website operation with the mock', async () => {
  const { created, listed, verification, deleted } = await websiteLifecycle(configuration);
  expect(created).toMatchObject({ id: expect.any(Number), created_at: expect.any(Date) });
  expect(listed.data[0]?.updated_at).toBeInstanceOf(Date);
  expect(verification.opens).toBe(true);
  expect(deleted.deleted).toBe(true);
});

test('the client can use every monitor operation with the mock', async () => {
  const responses = await monitorLifecycle(configuration, { provider_type: 'sms', phone_number: '+4915112345678' });
  expect(responses.created).toMatchObject({ id: expect.any(Number), created_at: expect.any(Date) });
  expect(responses.incidents.data[0]?.started_at).toBeInstanceOf(Date);
  expect(responses.deleted.deleted).toBe(true);
});
