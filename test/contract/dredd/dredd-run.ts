import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import Dredd, { type Test, type Transaction } from 'dredd';
import reports from 'dredd/build/reporters/reporterOutputLogger.js';
import type { Answer } from '../../support/api-client.ts';
import type { Api } from '../../support/contract-operations.ts';
import { type Case, casesOf, titleOf } from './cases.ts';
import { check } from './check.ts';
import { setHooks } from './current-hooks.ts';
import { documentsFor } from './documents.ts';
import { compose, type Draft } from './draft.ts';
import { isExcluded } from './excluded.ts';
import { prepare } from './prepare.ts';
import type { World } from './world.ts';

export interface Outcome {
  tried: Case;
  verdict: 'pass' | 'fail' | 'skip';
  /** Why it failed. */
  reason: string;
}

/** Runs one API through Dredd. `plant` may spoil an answer before anybody has looked at it. */
export async function runDredd(api: Api, world: World, plant: (tried: Case, answer: Answer) => void = () => {}): Promise<Outcome[]> {
  const cases = casesOf(api);
  const outcomes: Outcome[] = [];
  const drafts = new WeakMap<Transaction, Draft>();
  const caseOf = ({ origin, expected }: Pick<Transaction, 'origin' | 'expected'>) => {
    const found = cases.find(
      ({ operation, status, index }) =>
        origin.apiName === `${api} ${index}` && origin.actionName === operation.id && Number(expected.statusCode) === status,
    );
    if (!found) throw new Error(`Dredd made up ${origin.apiName} ${origin.actionName} ${expected.statusCode}.`);
    return found;
  };

  setHooks({
    async before(transaction) {
      const tried = caseOf(transaction);
      transaction.skip = isExcluded(tried);
      if (transaction.skip) return;
      const draft = await prepare(tried, world);
      drafts.set(transaction, draft);
      const { url, path, headers, body = '' } = compose(draft);
      const { hostname, port } = new URL(url);
      Object.assign(transaction, { host: hostname, port, fullPath: path });
      Object.assign(transaction.request, { headers, body });
    },
    async validate(transaction) {
      const draft = drafts.get(transaction);
      if (!draft) throw new Error('The request was not prepared.');
      draft.after?.();
      const answer = answerOf(transaction);
      plant(draft, answer);
      showAnswer(transaction, answer);
      await check(draft, answer);
    },
  });

  const emitter = new EventEmitter();
  const note = (verdict: Outcome['verdict'], test: Test, reason = '') => {
    outcomes.push({ tried: caseOf(test), verdict, reason });
    if (verdict === 'fail') console.error('DEBUG', titleOf(caseOf(test)), reason);
  };
  emitter.on('test pass', (test: Test) => note('pass', test));
  emitter.on('test skip', (test: Test) => note('skip', test));
  emitter.on('test fail', (test: Test) => note('fail', test, reasonOf(test)));
  emitter.on('test error', (error: Error, test: Test) => note('fail', test, error.message));
  reports.default.transports.console.silent = true;
  const dredd = new Dredd({
    endpoint: world.main.url,
    apiDescriptions: documentsFor(api, cases),
    hookfiles: [fileURLToPath(new URL('hooks.cjs', import.meta.url))],
    emitter,
    loglevel: 'error',
  });
  await new Promise<void>((resolve, reject) => dredd.run((error) => (error ? reject(error) : resolve())));
  return outcomes;
}

function reasonOf({ message, errors = [] }: Test): string {
  return [message, ...errors.map((error) => error.message)].filter(Boolean).join('; ').trim();
}

function answerOf({ real }: Transaction): Answer {
  const headers = new Headers();
  for (const [name, value] of Object.entries(real.headers)) for (const one of [value].flat()) headers.append(name, one);
  const text = real.body ?? '';
  return { status: real.statusCode, headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

/** What was planted is shown to Dredd too. */
function showAnswer(transaction: Transaction, { status, headers, text }: Answer) {
  transaction.real = { ...transaction.real, statusCode: status, headers: Object.fromEntries(headers), body: text };
}
