// That the check catches what it must is seen in planted-faults.test.ts; here, where it is asked without an operation.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../support/api-client.ts';
import { ContractBreach, holdAgainstContract } from '../support/response-check.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
let good: Answer;

beforeAll(async () => {
  service = await startService();
  const { api } = await service.createUser();
  good = await api.get('/api/v1/websites');
});
afterAll(() => service.stop());

test('an answer as the service gives it passes', () => {
  expect(() => holdAgainstContract('GET', '/api/v1/websites', good)).not.toThrow();
});

test('an unknown path that answers 200 is caught', () => {
  expect(() => holdAgainstContract('GET', '/api/v1/nope', good)).toThrow(ContractBreach);
});

test('a method that the path does not have and that answers 200 is caught', () => {
  expect(() => holdAgainstContract('POST', '/api/v1/websites/1', good)).toThrow(ContractBreach);
});

test('an unknown path that answers 404 as something else than a problem is caught', () => {
  expect(() => holdAgainstContract('GET', '/api/v1/nope', { ...good, status: 404 })).toThrow(ContractBreach);
});
