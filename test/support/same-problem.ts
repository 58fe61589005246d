import { expect } from 'vitest';
import type { ApiResponse } from './api-client.ts';

/**
 * The client cannot tell the two problems apart: they are the same byte for byte, except for what the request itself
 * determines, which is its id, its path and the resource that it named.
 */
export function expectSameProblem(one: ApiResponse, other: ApiResponse) {
  expect(withoutRequest(one)).toEqual(withoutRequest(other));
}

function withoutRequest({ status, headers, text, body }: ApiResponse) {
  const { request_id, instance, detail } = body;
  return {
    status,
    headers: [...headers.keys()],
    text: text
      .replace(JSON.stringify(request_id), '"…"')
      .replace(JSON.stringify(instance), '"…"')
      .replace(JSON.stringify(detail), JSON.stringify(withoutNames(detail))),
  };
}

/** Monitor 17 was not found. → Monitor … was not found. */
function withoutNames(detail: string): string {
  return detail.replace(/\d+|"[^"]*"/g, '…');
}
