// The mistakes that a request of any operation can contain, in the order in which the contract says that they are reported.
import type { ContractOperation } from './contract-operations.ts';
import { pathOf, type ValidRequest, withInvalidInput } from './valid-requests.ts';

/** A valid request in which mistakes are made. */
export interface Draft {
  operation: ContractOperation;
  request: ValidRequest;
  method: string;
  caller: 'valid' | 'none' | 'withoutScope' | 'session';
  pathSuffix: string;
  rawQuery: string;
  bodySuffix: string;
}

export interface Mistake {
  status: number;
  code: string;
  /** Two mistakes in the same part of a request cannot be combined. */
  part: string;
  isPossible(operation: ContractOperation): boolean;
  make(draft: Draft): void;
}

const always = () => true;
const takes = (mediaType: string) => (operation: ContractOperation) => operation.body?.mediaType === mediaType;
const takesJson = takes('application/json');
const takesForm = takes('application/x-www-form-urlencoded');
const has = (location: string) => (operation: ContractOperation) => operation.parameters.some((parameter) => parameter.in === location);
const nameIn = (location: string, { parameters }: ContractOperation) => parameters.find((one) => one.in === location)?.name ?? '';

const maxBodyBytes = 256 * 1024;

export const mistakes: Mistake[] = [
  {
    status: 404,
    code: 'not_found',
    part: 'route',
    isPossible: always,
    make(draft) {
      draft.pathSuffix = '/unknown/path';
    },
  },
  {
    status: 405,
    code: 'method_not_allowed',
    part: 'route',
    isPossible: always,
    make(draft) {
      draft.method = 'PROPFIND';
    },
  },
  {
    status: 401,
    code: 'unauthenticated',
    part: 'credentials',
    isPossible: ({ credentials }) => credentials.length > 0,
    make(draft) {
      draft.caller = 'none';
      delete draft.request.headers.Cookie;
    },
  },
  {
    status: 403,
    code: 'cross_origin',
    part: 'credentials',
    isPossible: ({ method, responses }) => method !== 'GET' && '403' in responses,
    make(draft) {
      if (draft.operation.credentials.includes('bearerKey')) draft.caller = 'session';
      draft.request.headers['Sec-Fetch-Site'] = 'cross-site';
    },
  },
  {
    status: 403,
    code: 'missing_scope',
    part: 'credentials',
    isPossible: ({ scopes }) => scopes.length > 0,
    make(draft) {
      draft.caller = 'withoutScope';
    },
  },
  {
    status: 406,
    code: 'not_acceptable',
    part: 'Accept',
    isPossible: ({ responses }) => '406' in responses,
    make({ request }) {
      request.headers.Accept = 'text/html';
    },
  },
  {
    status: 415,
    code: 'unsupported_media_type',
    part: 'Content-Type',
    isPossible: ({ body }) => body !== undefined,
    make({ request }) {
      request.headers['Content-Type'] = 'text/plain';
    },
  },
  {
    status: 413,
    code: 'body_too_large',
    part: 'size of the body',
    isPossible: ({ body }) => body !== undefined,
    make(draft) {
      draft.bodySuffix += takesJson(draft.operation) ? ' '.repeat(maxBodyBytes) : `&x=${'x'.repeat(maxBodyBytes)}`;
    },
  },
  {
    status: 400,
    code: 'malformed_json',
    part: 'syntax of the body',
    isPossible: takesJson,
    make(draft) {
      draft.bodySuffix = `}${draft.bodySuffix}`;
    },
  },
  {
    status: 400,
    code: 'malformed_encoding',
    part: 'syntax of the body',
    isPossible: takesForm,
    make(draft) {
      draft.bodySuffix = `&x=%FF${draft.bodySuffix}`;
    },
  },
  {
    status: 400,
    code: 'malformed_encoding',
    part: 'query',
    isPossible: has('query'),
    make(draft) {
      draft.rawQuery = `?${nameIn('query', draft.operation)}=%FF`;
    },
  },
  {
    status: 422,
    code: 'validation_failed',
    part: 'fields of the body',
    isPossible: ({ body }) => body !== undefined,
    make(draft) {
      draft.request = withInvalidInput(draft.operation, draft.request);
    },
  },
  {
    status: 422,
    code: 'validation_failed',
    part: 'path',
    isPossible: has('path'),
    make: ({ operation, request }) => setPath(request, operation, { id: 'abc', domain: 'localhost', token: 'x'.repeat(65) }),
  },
  {
    status: 422,
    code: 'validation_failed',
    part: 'header',
    isPossible: has('header'),
    make({ operation, request }) {
      request.headers[nameIn('header', operation)] = 'x'.repeat(1025);
    },
  },
  {
    status: 404,
    code: 'not_found',
    part: 'path',
    isPossible: has('path'),
    make: ({ operation, request }) =>
      setPath(request, operation, { id: Number.MAX_SAFE_INTEGER, domain: 'unknown-website.example', token: 'unknown' }),
  },
  {
    status: 412,
    code: 'precondition_failed',
    part: 'header',
    isPossible: ({ responses }) => '412' in responses,
    make({ request }) {
      request.headers['If-Match'] = '"an-old-version"';
    },
  },
];

function setPath(request: ValidRequest, operation: ContractOperation, values: Record<string, string | number>) {
  const name = nameIn('path', operation);
  const value = values[name];
  if (value === undefined) throw new Error(`There is no such value of the path parameter ${name}.`);
  request.parameters = { [name]: value };
}

/** Makes the mistakes, of which the later ones change what the earlier ones are added to. */
export function withMistakes(operation: ContractOperation, valid: ValidRequest, made: Mistake[]): Draft {
  const request = { ...valid, headers: { ...valid.headers } };
  const draft: Draft = { operation, request, method: operation.method, caller: 'valid', pathSuffix: '', rawQuery: '', bodySuffix: '' };
  for (const { make } of made.toReversed()) make(draft);
  return draft;
}

/** The arguments of ApiClient.request. */
export function argumentsOf({ operation, request, method, pathSuffix, rawQuery, bodySuffix }: Draft) {
  const { json, form } = request;
  const text = json ? JSON.stringify(json) : form && String(new URLSearchParams(form));
  const headers = { ...(operation.body && { 'Content-Type': operation.body.mediaType }), ...request.headers };
  const path = pathOf(operation, request) + pathSuffix + rawQuery;
  return [method, path, { headers, ...(text !== undefined && { raw: text + bodySuffix }) }] as const;
}
