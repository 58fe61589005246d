// injected-faults.test.ts covers the violations that the check must detect. These tests cover paths and methods outside the
// contract.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { ContractViolation, checkAgainstContract } from '../support/response-check.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
let valid: ApiResponse;

beforeAll(async () => {
  service = await startService();
  const { api } = await service.createUser();
  valid = await api.get('/api/v1/websites');
});
afterAll(() => service.stop());

test('accepts a valid response', () => {
  expect(() => checkAgainstContract('GET', '/api/v1/websites', valid)).not.toThrow();
});

test('detects a 200 for an unknown path', () => {
  expect(() => checkAgainstContract('GET', '/api/v1/nope', valid)).toThrow(ContractViolation);
});

test('detects a 200 for a method that the path does not support', () => {
  expect(() => checkAgainstContract('POST', '/api/v1/websites/1', valid)).toThrow(ContractViolation);
});

test('detects a 404 for an unknown path that is not a problem', () => {
  expect(() => checkAgainstContract('GET', '/api/v1/nope', { ...valid, status: 404 })).toThrow(ContractViolation);
});
