// The check that every other test relies on must be able to say no.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../support/api-client.ts';
import { ContractBreach, holdAgainstContract } from '../support/response-check.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
let good: Answer;
let problem: Answer;

beforeAll(async () => {
  service = await startService();
  const { api } = await service.createUser();
  await api.post('/api/v1/websites', { form: { domain: 'example.com' } });
  good = await api.get('/api/v1/websites');
  problem = await service.stranger.get('/api/v1/websites');
});
afterAll(() => service.stop());

const faults: Record<string, (answer: Answer) => void> = {
  'a wrong type': ({ body }) => {
    body.data[0].id = '1';
  },
  'a value outside the list': ({ body }) => {
    body.data[0].privacy = 3;
  },
  'a bad format': ({ body }) => {
    body.data[0].created_at = 'yesterday';
  },
  'a missing field': ({ body }) => delete body.data[0].favorite,
  'a renamed field': ({ body }) => {
    body.data[0].hasPassword = body.data[0].has_password;
  },
  'a surplus field': ({ body }) => {
    body.data[0].user_id = 1;
  },
  'a null': ({ body }) => {
    body.data[0].domain = null;
  },
  'a missing envelope': ({ body }) => delete body.links,
  'another media type': ({ headers }) => headers.set('Content-Type', 'application/json; charset=utf-8'),
  'a missing header': ({ headers }) => headers.delete('RateLimit'),
  'a header of the wrong form': ({ headers }) => headers.set('X-RateLimit-Limit', 'many'),
  'an undeclared status': (answer) => {
    answer.status = 206;
  },
};

function planted(answer: Answer, plant: (answer: Answer) => void): Answer {
  const copy = { ...answer, headers: new Headers(answer.headers), body: structuredClone(answer.body) };
  plant(copy);
  return copy;
}

test('an answer as the service gives it passes', () => {
  expect(() => holdAgainstContract('GET', '/api/v1/websites', good)).not.toThrow();
  expect(() => holdAgainstContract('GET', '/api/v1/websites', problem)).not.toThrow();
});

test.each(Object.keys(faults))('%s is caught', (title) => {
  const plant = faults[title] ?? (() => {});
  expect(() => holdAgainstContract('GET', '/api/v1/websites', planted(good, plant))).toThrow(ContractBreach);
});

test('a problem without its code is caught', () => {
  expect(() =>
    holdAgainstContract(
      'GET',
      '/api/v1/websites',
      planted(problem, ({ body }) => delete body.code),
    ),
  ).toThrow(ContractBreach);
});

test('an error that is no problem+json is caught', () => {
  const plain = planted(problem, ({ headers }) => headers.set('Content-Type', 'application/json'));
  expect(() => holdAgainstContract('GET', '/api/v1/websites', plain)).toThrow(ContractBreach);
});

test('a 401 without WWW-Authenticate is caught', () => {
  const silent = planted(problem, ({ headers }) => headers.delete('WWW-Authenticate'));
  expect(() => holdAgainstContract('GET', '/api/v1/websites', silent)).toThrow(ContractBreach);
});

test('an unknown path that answers 200 is caught', () => {
  expect(() => holdAgainstContract('GET', '/api/v1/nope', good)).toThrow(ContractBreach);
});
