import type { ApiResponse } from '../../support/api-client.ts';
import type { Case } from './cases.ts';
import { check } from './check.ts';
import { type Draft, send } from './draft.ts';
import type { TestEnvironment } from './environment.ts';
import { prepare } from './prepare.ts';
import { isImpossible, type Outcome } from './report.ts';

/** Changes a response before it is checked. */
export type Inject = (testCase: Case, response: ApiResponse) => void;

/** Sends the request of every case and checks its response. */
export async function runCases(environment: TestEnvironment, cases: Case[], inject: Inject = () => {}): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const testCase of cases) {
    if (isImpossible(testCase)) {
      outcomes.push({ testCase, result: 'skip', reason: '' });
      continue;
    }
    try {
      const draft = await prepare(testCase, environment);
      const response = await responseTo(draft);
      inject(testCase, response);
      await check(draft, response);
      outcomes.push({ testCase, result: 'pass', reason: '' });
    } catch (error) {
      outcomes.push({ testCase, result: 'fail', reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return outcomes;
}

/** Sends the request of a case and reads the response. */
export async function responseTo(draft: Draft): Promise<ApiResponse> {
  try {
    const fetched = await send(draft);
    const text = await fetched.text();
    // The headers are copied, because those of a fetched response cannot be changed.
    return { status: fetched.status, headers: new Headers(fetched.headers), text, body: text === '' ? undefined : JSON.parse(text) };
  } finally {
    await draft.cleanUp?.();
  }
}
