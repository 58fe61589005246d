import { instanceOfProblem, type Problem, ProblemFromJSON } from './models/index.js';
import { ResponseError } from './runtime.js';

/**
 * Returns the problem that the service responded with: `status`, a stable `code`, `detail` and, for a 422, `errors`.
 * Returns undefined for any other error, such as a lost connection or a response from a proxy.
 */
export async function problemOf(error: unknown): Promise<Problem | undefined> {
  if (!(error instanceof ResponseError)) return undefined;
  // Reads a copy, so that the caller can still read the response.
  const body: unknown = await error.response
    .clone()
    .json()
    .catch(() => undefined);
  return typeof body === 'object' && body !== null && instanceOfProblem(body) ? ProblemFromJSON(body) : undefined;
}
