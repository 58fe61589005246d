// What no caller can bring about from outside, why, and where it is tested instead.
import type { Case } from './cases.ts';

export const excluded: { answer: string; reason: string; testedIn: string }[] = [
  {
    answer: 'internal_error',
    reason: 'nothing that is sent makes the service fail; a fault must be planted in it',
    testedIn: 'test/http/our-faults.test.ts',
  },
  {
    answer: 'unavailable',
    reason: 'the database must be lost while the request runs',
    testedIn: 'test/http/our-faults.test.ts',
  },
  {
    answer: 'request_in_progress',
    reason: 'the first request must be held while the second comes',
    testedIn: 'test/db/idempotency.test.ts',
  },
];

export function isExcluded({ answer }: Case): boolean {
  return excluded.some((entry) => entry.answer === answer?.name);
}
