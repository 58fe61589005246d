// That the check catches what it must is seen in planted-faults.test.ts; here, where it is asked without an operation.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { ContractViolation, checkAgainstContract } from '../support/response-check.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
let good: ApiResponse;

beforeAll(async () => {
  service = await startService();
  const { api } = await service.createUser();
  good = await api.get('/api/v1/websites');
});
afterAll(() => service.stop());

test('an answer as the service gives it passes', () => {
  expect(() => checkAgainstContract('GET', '/api/v1/websites', good)).not.toThrow();
});

test('an unknown path that answers 200 is caught', () => {
  expect(() => checkAgainstContract('GET', '/api/v1/nope', good)).toThrow(ContractViolation);
});

test('a method that the path does not have and that answers 200 is caught', () => {
  expect(() => checkAgainstContract('POST', '/api/v1/websites/1', good)).toThrow(ContractViolation);
});

test('an unknown path that answers 404 as something else than a problem is caught', () => {
  expect(() => checkAgainstContract('GET', '/api/v1/nope', { ...good, status: 404 })).toThrow(ContractViolation);
});
