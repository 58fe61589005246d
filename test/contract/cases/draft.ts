import { allScopes } from '../../../src/auth/scopes.ts';
import type { TestUser } from '../../support/service.ts';
import { type Body, pathOf, type Sender, type ValidRequest } from '../../support/valid-requests.ts';
import type { Case } from './cases.ts';
import type { TestEnvironment } from './environment.ts';

/** A valid request that a setup changes until it causes the response of the case. A setup can also choose another service. */
export interface Draft extends Sender, Case {
  environment: TestEnvironment;
  request: ValidRequest;
  /** The user whose rows the response may contain. */
  owner: { id: number };
  /** Replaces the query. */
  rawQuery?: string;
  /** Replaces the body. */
  rawBody?: string | Buffer<ArrayBuffer>;
  /** Reverts what the setup changed outside the user's data. */
  cleanUp?: () => void | Promise<void>;
}

export interface HttpRequest {
  url: string;
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | Buffer<ArrayBuffer>;
}

export function buildRequest({ service, operation, request, rawQuery, rawBody }: Draft): HttpRequest {
  const path = rawQuery === undefined ? pathOf(operation, request) : `${pathOf(operation, { parameters: request.parameters })}?${rawQuery}`;
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
  const { url, ...options } = buildRequest(draft);
  return fetch(url, { ...options, redirect: 'manual' });
}

/** Creates a key for the user and returns the header with it. The key has every scope unless `fields` sets others. */
export async function authorization(user: TestUser, fields: Body = {}): Promise<{ Authorization: string }> {
  const { body } = await user.api.post('/api/keys', { json: { name: 'Calling', scopes: allScopes, ...fields } });
  return { Authorization: `Bearer ${body.data.key}` };
}
