import { allScopes } from '../../../src/auth/scopes.ts';
import type { TestUser } from '../../support/service.ts';
import { type Body, pathOf, type Sender, type ValidRequest } from '../../support/valid-requests.ts';
import type { Case } from './cases.ts';
import type { World } from './world.ts';

/** A valid request on its way to bring a case about. The service may become another than the one it was prepared on. */
export interface Draft extends Sender, Case {
  world: World;
  request: ValidRequest;
  /** Whose rows the answer may show. */
  owner: { id: number };
  rawQuery?: string;
  rawBody?: string | Buffer<ArrayBuffer>;
  /** Sets right what was changed for this case. */
  after?: () => void;
}

/** What goes over the wire. */
export interface Sent {
  url: string;
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | Buffer<ArrayBuffer>;
}

export function compose({ service, operation, request, rawQuery, rawBody }: Draft): Sent {
  const path = pathOf(operation, request) + (rawQuery === undefined ? '' : `?${rawQuery}`);
  const { json, form } = request;
  const body = rawBody ?? (json ? JSON.stringify(json) : form ? String(new URLSearchParams(form)) : undefined);
  return {
    url: service.url + path,
    path,
    method: operation.method,
    headers: { ...(body !== undefined && { 'Content-Type': operation.body?.mediaType ?? '' }), ...request.headers },
    ...(body !== undefined && { body }),
  };
}

export function send(draft: Draft): Promise<Response> {
  const { url, ...options } = compose(draft);
  return fetch(url, { ...options, redirect: 'manual' });
}

/** The header with a new key of the user: every scope, unless it is said otherwise. */
export async function authorization(user: TestUser, wanted: Body = {}): Promise<{ Authorization: string }> {
  const { body } = await user.api.post('/api/keys', { json: { name: 'Calling', scopes: allScopes, ...wanted } });
  return { Authorization: `Bearer ${body.data.key}` };
}
