import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import Dredd, { type Test, type Transaction } from 'dredd';
import reports from 'dredd/build/reporters/reporterOutputLogger.js';
import type { ApiResponse } from '../../support/api-client.ts';
import { type Case, cases } from './cases.ts';
import { check } from './check.ts';
import { setHooks } from './current-hooks.ts';
import { documentOf, documentsFor } from './documents.ts';
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

/**
 * Runs both contracts through Dredd, in one go: it reads the documents first, and reading takes so long that connections
 * made before would be stale. `plant` may spoil an answer before anybody has looked at it.
 */
export async function runDredd(world: World, plant: (tried: Case, answer: ApiResponse) => void = () => {}): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const drafts = new WeakMap<Transaction, Draft>();
  const hooked = new Set<Case>();

  setHooks({
    async before(transaction) {
      const tried = caseOf(transaction);
      hooked.add(tried);
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
  const note = (verdict: Outcome['verdict'], test: Test, reason = '') => outcomes.push({ tried: caseOf(test), verdict, reason });
  emitter.on('test pass', (test: Test) => note('pass', test));
  emitter.on('test skip', (test: Test) => note('skip', test));
  emitter.on('test fail', (test: Test) => note('fail', test, reasonOf(test)));
  emitter.on('test error', (error: Error, test: Test) => note('fail', test, error.message));
  reports.default.transports.console.silent = true;
  const dredd = new Dredd({
    endpoint: world.main.url,
    apiDescriptions: documentsFor(cases),
    hookfiles: [fileURLToPath(new URL('hooks.cjs', import.meta.url))],
    emitter,
    loglevel: 'error',
  });
  await new Promise<void>((resolve, reject) => dredd.run((error) => (error ? reject(error) : resolve())));
  // Dredd only warns of a hook file that it could not load, and then some answers would pass unseen.
  if (hooked.size < cases.length) throw new Error(`The hooks saw ${hooked.size} of ${cases.length} transactions.`);
  return outcomes;
}

function caseOf({ origin, expected }: Pick<Transaction, 'origin' | 'expected'>): Case {
  const found = cases.find(
    (tried) =>
      documentOf(tried) === origin.apiName && tried.operation.id === origin.actionName && tried.status === Number(expected.statusCode),
  );
  if (!found) throw new Error(`Dredd tried ${origin.apiName} ${origin.actionName} ${expected.statusCode}, which nobody declared.`);
  return found;
}

function reasonOf({ message, errors = [] }: Test): string {
  return [...new Set([message, ...errors.map((error) => error.message)])].filter(Boolean).join('; ').trim();
}

function answerOf({ real }: Transaction): ApiResponse {
  const headers = new Headers();
  for (const [name, value] of Object.entries(real.headers)) for (const one of [value].flat()) headers.append(name, one);
  const text = real.body ?? '';
  return { status: real.statusCode, headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

/** What was planted is shown to Dredd too. */
function showAnswer(transaction: Transaction, { status, headers, text }: ApiResponse) {
  transaction.real = { ...transaction.real, statusCode: status, headers: Object.fromEntries(headers), body: text };
}
