import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../support/contract-operations.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** The headers that the contract declares. Scripts can never read cookies, and know the scheme. */
const declared = Object.values(operations)
  .flatMap(({ responses }) => Object.values(responses).flatMap(({ headers = {} }) => Object.keys(headers)))
  .filter((name) => !['Set-Cookie', 'WWW-Authenticate'].includes(name));

test('scripts of any origin can read responses and every header of the contract, but send no cookies', async () => {
  const { api } = await service.createUser();
  const { headers } = await api.get('/api/monitors', { headers: { Origin: 'https://app.example.com' } });
  expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
  expect(headers.get('Access-Control-Expose-Headers')?.split(',').toSorted()).toEqual([...new Set(declared)].toSorted());
  expect(headers.get('Access-Control-Allow-Credentials')).toBeNull();
});

test('with CORS_ORIGINS, only scripts of these origins can', async () => {
  const restricted = await startService({ corsOrigins: ['https://app.example.com'] }, { database: service.database });
  try {
    const allowedOrigin = async (origin: string) =>
      (await restricted.anonymous.get('/api/monitors', { headers: { Origin: origin } })).headers.get('Access-Control-Allow-Origin');
    expect(await allowedOrigin('https://app.example.com')).toBe('https://app.example.com');
    expect(await allowedOrigin('https://evil.example.com')).toBeNull();
  } finally {
    await restricted.stop();
  }
});
