import { instanceOfProblem, type Problem, ProblemFromJSON } from './models/index.js';
import { ResponseError } from './runtime.js';

/**
 * What the service said when it refused: `status`, a stable `code`, `detail`, and for a 422 `errors`.
 * Undefined for every other error, such as a lost connection or the answer of a proxy in between.
 */
export async function problemOf(error: unknown): Promise<Problem | undefined> {
  if (!(error instanceof ResponseError)) return undefined;
  // A copy, so that the caller can still read the answer.
  const body: unknown = await error.response
    .clone()
    .json()
    .catch(() => undefined);
  return typeof body === 'object' && body !== null && instanceOfProblem(body) ? ProblemFromJSON(body) : undefined;
}
