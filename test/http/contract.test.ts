import { type Document, OpenAPIValidator } from 'openapi-backend';
import { afterEach, expect, test, vi } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import { Contract } from '../../src/http/contract.ts';

afterEach(() => vi.restoreAllMocks());

test('the validators of every operation are compiled before its first request', async () => {
  const compile = vi.spyOn(OpenAPIValidator.prototype, 'getRequestValidatorsForOperation');
  const { operations } = await Contract.load(structuredClone(monitoring) as unknown as Document);
  expect(operations.length).toBeGreaterThan(20);
  await expect.poll(() => compile.mock.calls.map(([id]) => id), { timeout: 20_000 }).toEqual(operations.map(({ id }) => id));
});
