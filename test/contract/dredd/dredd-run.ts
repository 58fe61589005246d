import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import Dredd, { type Test, type Transaction } from 'dredd';
import reports from 'dredd/build/reporters/reporterOutputLogger.js';
import type { ApiResponse } from '../../support/api-client.ts';
import { type Case, cases } from './cases.ts';
import { check } from './check.ts';
import { setHooks } from './current-hooks.ts';
import { documentOf, documentsFor } from './documents.ts';
import { buildRequest, type Draft } from './draft.ts';
import type { TestEnvironment } from './environment.ts';
import { isExcluded } from './excluded.ts';
import { prepare } from './prepare.ts';

export interface Outcome {
  testCase: Case;
  result: 'pass' | 'fail' | 'skip';
  /** Why the case failed. */
  reason: string;
}

/**
 * Runs both contracts through Dredd in one run. Dredd parses the documents first, which takes so long that connections
 * opened before would be stale. `inject` can change a response before it is checked.
 */
export async function runDredd(
  environment: TestEnvironment,
  inject: (testCase: Case, response: ApiResponse) => void = () => {},
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const drafts = new WeakMap<Transaction, Draft>();
  const hooked = new Set<Case>();

  setHooks({
    async before(transaction) {
      const testCase = caseOf(transaction);
      hooked.add(testCase);
      transaction.skip = isExcluded(testCase);
      if (transaction.skip) return;
      const draft = await prepare(testCase, environment);
      drafts.set(transaction, draft);
      const { url, path, headers, body = '' } = buildRequest(draft);
      const { hostname, port } = new URL(url);
      Object.assign(transaction, { host: hostname, port, fullPath: path });
      Object.assign(transaction.request, { headers, body });
    },
    async validate(transaction) {
      const draft = drafts.get(transaction);
      if (!draft) throw new Error('The request was not prepared.');
      draft.cleanUp?.();
      const response = responseOf(transaction);
      inject(draft, response);
      setResponse(transaction, response);
      await check(draft, response);
    },
  });

  const emitter = new EventEmitter();
  const record = (result: Outcome['result'], test: Test, reason = '') => outcomes.push({ testCase: caseOf(test), result, reason });
  emitter.on('test pass', (test: Test) => record('pass', test));
  emitter.on('test skip', (test: Test) => record('skip', test));
  emitter.on('test fail', (test: Test) => record('fail', test, reasonOf(test)));
  emitter.on('test error', (error: Error, test: Test) => record('fail', test, error.message));
  reports.default.transports.console.silent = true;
  const dredd = new Dredd({
    endpoint: environment.main.url,
    apiDescriptions: documentsFor(cases),
    hookfiles: [fileURLToPath(new URL('hooks.cjs', import.meta.url))],
    emitter,
    loglevel: 'error',
  });
  await new Promise<void>((resolve, reject) => dredd.run((error) => (error ? reject(error) : resolve())));
  // Dredd only warns about a hook file that it cannot load. Some responses would then pass without our checks.
  if (hooked.size < cases.length) throw new Error(`The hooks ran for ${hooked.size} of ${cases.length} transactions.`);
  return outcomes;
}

function caseOf({ origin, expected }: Pick<Transaction, 'origin' | 'expected'>): Case {
  const found = cases.find(
    (testCase) =>
      documentOf(testCase) === origin.apiName &&
      testCase.operation.id === origin.actionName &&
      testCase.status === Number(expected.statusCode),
  );
  if (!found) throw new Error(`Dredd ran ${origin.apiName} ${origin.actionName} ${expected.statusCode}, which is not a declared case.`);
  return found;
}

function reasonOf({ message, errors = [] }: Test): string {
  return [...new Set([message, ...errors.map((error) => error.message)])].filter(Boolean).join('; ').trim();
}

function responseOf({ real }: Transaction): ApiResponse {
  const headers = new Headers();
  for (const [name, value] of Object.entries(real.headers)) for (const one of [value].flat()) headers.append(name, one);
  const text = real.body ?? '';
  return { status: real.statusCode, headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

/** Replaces the response that Dredd validates, so that Dredd also sees the injected fault. */
function setResponse(transaction: Transaction, { status, headers, text }: ApiResponse) {
  transaction.real = { ...transaction.real, statusCode: status, headers: Object.fromEntries(headers), body: text };
}
