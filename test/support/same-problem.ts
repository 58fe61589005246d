import { expect } from 'vitest';
import type { ApiResponse } from './api-client.ts';

/** Whoever asks cannot tell the two apart: all but the request's own id and path is the same, byte for byte. */
export function expectSameProblem(one: ApiResponse, other: ApiResponse) {
  expect(withoutTrace(one)).toEqual(withoutTrace(other));
}

function withoutTrace({ status, headers, text, body }: ApiResponse) {
  const { request_id, instance } = body;
  return {
    status,
    headers: [...headers.keys()],
    text: text.replace(JSON.stringify(request_id), '"…"').replace(JSON.stringify(instance), '"…"'),
  };
}
