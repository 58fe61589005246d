import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import Dredd, { type ApiDescription, type Test, type Transaction } from 'dredd';
import reports from 'dredd/build/reporters/reporterOutputLogger.js';
import type { Case } from '../cases/cases.ts';
import { check } from '../cases/check.ts';
import type { Draft } from '../cases/draft.ts';
import type { TestEnvironment } from '../cases/environment.ts';
import { prepare } from '../cases/prepare.ts';
import { isImpossible, type Outcome } from '../cases/report.ts';
import type { Inject } from '../cases/run-cases.ts';
import { setHooks } from './current-hooks.ts';
import { applyDraft, assertSameExamples, caseOf, requestOf, responseOf, setResponse } from './transactions.ts';

interface Options {
  /** Whether a case is sent. The default is every case that is possible. */
  isSent?: (testCase: Case) => boolean;
  inject?: Inject;
}

/**
 * Runs both contracts through Dredd in one run. Dredd parses the bundles first, which takes so long that connections opened
 * before would be stale. Dredd itself compares only keys, so the hooks check every response against the whole contract.
 */
export async function runDredd(
  environment: TestEnvironment,
  { isSent = (testCase) => !isImpossible(testCase), inject = () => {} }: Options = {},
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const drafts = new WeakMap<Transaction, Draft>();
  const checked = new Set<Case>();

  setHooks({
    async before(transaction) {
      const testCase = caseOf(transaction);
      transaction.skip = !isSent(testCase);
      if (transaction.skip) return;
      assertSameExamples(transaction, testCase);
      const draft = await prepare(testCase, environment, requestOf(transaction, testCase));
      drafts.set(transaction, draft);
      applyDraft(transaction, draft);
    },
    async validate(transaction) {
      const draft = drafts.get(transaction);
      if (!draft) throw new Error('The request was not prepared.');
      await draft.cleanUp?.();
      const response = responseOf(transaction);
      inject(draft, response);
      setResponse(transaction, response);
      await check(draft, response);
      checked.add(caseOf(transaction));
    },
  });

  const emitter = new EventEmitter();
  // For the hooks, Dredd copies its configuration, and looks up every object in a list of all others. The parsed documents in
  // it are no longer needed, and copying them would take longer than half of the transactions.
  emitter.on('start', (descriptions: ApiDescription[], done: () => void) => {
    for (const description of descriptions) delete description.apiElements;
    done();
  });
  const record = (result: Outcome['result'], test: Test, reason = '') => outcomes.push({ testCase: caseOf(test), result, reason });
  emitter.on('test pass', (test: Test) => {
    // Dredd only warns about a hook file that it cannot load. Some responses would then pass without our checks.
    if (checked.has(caseOf(test))) record('pass', test);
    else record('fail', test, 'the hooks did not check the response');
  });
  emitter.on('test skip', (test: Test) => record('skip', test));
  emitter.on('test fail', (test: Test) => record('fail', test, reasonOf(test)));
  emitter.on('test error', (error: Error, test: Test) => record('fail', test, error.message));
  reports.default.transports.console.silent = true;
  const dredd = new Dredd({
    endpoint: environment.main.url,
    path: ['websites', 'monitoring'].map((api) => fileURLToPath(new URL(`../../../generated/${api}.json`, import.meta.url))),
    hookfiles: [fileURLToPath(new URL('hooks.cjs', import.meta.url))],
    emitter,
    loglevel: 'error',
  });
  await new Promise<void>((resolve, reject) => dredd.run((error) => (error ? reject(error) : resolve())));
  return outcomes;
}

function reasonOf({ message, errors = [] }: Test): string {
  return [...new Set([message, ...errors.map((error) => error.message)])].filter(Boolean).join('; ').trim();
}
