// Responses that no client can cause with a request, the reason, and the test that covers each of them instead.
import type { Case } from './cases.ts';

export const excluded: { example: string; reason: string; testedIn: string }[] = [
  {
    example: 'internal_error',
    reason: 'no request makes the service fail; a fault must be injected into it',
    testedIn: 'test/http/internal-errors.test.ts',
  },
  {
    example: 'unavailable',
    reason: 'the connection to the database must be lost during the request',
    testedIn: 'test/http/internal-errors.test.ts',
  },
  {
    example: 'request_in_progress',
    reason: 'the first request must still be in progress when the second one arrives',
    testedIn: 'test/db/idempotency.test.ts',
  },
];

export function isExcluded({ responseExample }: Case): boolean {
  return excluded.some(({ example }) => example === responseExample?.name);
}
