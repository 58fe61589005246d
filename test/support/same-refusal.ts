import { expect } from 'vitest';
import type { Answer } from './api-client.ts';

/** Whoever asks cannot tell the two apart: all but the request's own id and path is the same, byte for byte. */
export function expectSameRefusal(one: Answer, other: Answer) {
  expect(withoutTrace(one)).toEqual(withoutTrace(other));
}

function withoutTrace({ status, headers, text, body }: Answer) {
  const { request_id, instance } = body;
  return {
    status,
    headers: [...headers.keys()],
    text: text.replace(JSON.stringify(request_id), '"…"').replace(JSON.stringify(instance), '"…"'),
  };
}
