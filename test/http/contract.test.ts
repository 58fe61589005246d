import { type Document, OpenAPIValidator } from 'openapi-backend';
import { afterEach, expect, test, vi } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import { Contract } from '../../src/http/contract.ts';

afterEach(() => vi.restoreAllMocks());

test('the validators of every operation are compiled in the background, without a request', async () => {
  const compile = vi.spyOn(OpenAPIValidator.prototype, 'getRequestValidatorsForOperation');
  const document = structuredClone(monitoring) as unknown as Document;
  // The contracts of earlier test files may still be compiling.
  document.info.title = 'This test';
  const isOwn = (validator: unknown) => validator instanceof OpenAPIValidator && validator.definition.info.title === 'This test';
  const compiled = () => compile.mock.calls.filter((_, call) => isOwn(compile.mock.contexts[call]));
  const { operations } = await Contract.load(document);
  expect(compiled()).toEqual([]);
  expect(operations.length).toBeGreaterThan(20);
  await expect.poll(() => compiled().map(([id]) => id), { timeout: 20_000 }).toEqual(operations.map(({ id }) => id));
});
