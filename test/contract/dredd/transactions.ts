// Translates between Dredd's transactions and our cases.
import { isDeepStrictEqual } from 'node:util';
import type { Test, Transaction } from 'dredd';
import type { ApiResponse } from '../../support/api-client.ts';
import { bundles } from '../../support/contract-operations.ts';
import type { ValidRequest } from '../../support/valid-requests.ts';
import { type Case, casesOfDredd, titleOf } from '../cases/cases.ts';
import { buildRequest, type Draft } from '../cases/draft.ts';

export function caseOf({ origin, request, expected }: Pick<Test, 'origin' | 'request' | 'expected'>): Case {
  const found = casesOfDredd.find(({ operation, status }) => {
    const { info, servers } = bundles[operation.api];
    return (
      info.title === origin.apiName &&
      operation.method === request.method &&
      operation.path === new URL(servers[0]?.url ?? '').pathname + origin.resourceName &&
      status === Number(expected.statusCode)
    );
  });
  if (!found) throw new Error(`Dredd ran ${request.method} ${origin.resourceName} ${expected.statusCode}, which is not declared.`);
  return found;
}

/** Throws unless Dredd has read from the bundle what the case describes. It ignores the examples of forms. */
export function assertSameExamples({ request, expected }: Transaction, testCase: Case) {
  const { operation, requestExample, responseExample } = testCase;
  const { mediaType, examples = {} } = operation.body ?? {};
  const body = mediaType === 'application/json' ? (requestExample ? examples[requestExample] : Object.values(examples)[0]) : undefined;
  if (!isDeepStrictEqual(parse(`${request.body}`), body)) throw new Error(`Dredd has another body for ${titleOf(testCase)}.`);
  if (!isDeepStrictEqual(parse(expected.body), responseExample?.value)) {
    throw new Error(`Dredd expects another response for ${titleOf(testCase)}.`);
  }
}

/** What Dredd has read from the bundle and sends unless the setup of the case changes it. */
export function requestOf({ fullPath, request }: Transaction, { operation }: Case): Pick<ValidRequest, 'headers' | 'query'> {
  const { searchParams } = new URL(fullPath, 'http://localhost');
  const success = Object.entries(operation.responses).find(([status]) => status < '300')?.[1];
  // Dredd accepts only the media type of the expected response. A client that gets an error had asked for success.
  const accept = new Set([...Object.keys(success?.content ?? {}), request.headers.Accept ?? []].flat());
  return {
    headers: { ...request.headers, Accept: [...accept].join(', ') },
    ...(searchParams.size > 0 && { query: Object.fromEntries(searchParams) }),
  };
}

/** Adds the credentials, the ids of rows that exist and the data that causes the status. The method is Dredd's. */
export function applyDraft(transaction: Transaction, draft: Draft) {
  const { url, path, headers, body = '' } = buildRequest(draft);
  const { hostname, port } = new URL(url);
  Object.assign(transaction, { host: hostname, port, fullPath: path });
  Object.assign(transaction.request, { headers, body });
  // Dredd requires every declared header, but some are optional.
  const declared = Object.entries(draft.operation.responses[draft.status]?.headers ?? {});
  for (const [name, { required }] of declared) if (!required) delete transaction.expected.headers[name];
}

export function responseOf({ real }: Transaction): ApiResponse {
  const headers = new Headers();
  for (const [name, value] of Object.entries(real.headers)) for (const one of [value].flat()) headers.append(name, one);
  const text = real.body ?? '';
  return { status: real.statusCode, headers, text, body: parse(text) };
}

/** Replaces the response that Dredd validates, so that Dredd also sees an injected fault. */
export function setResponse(transaction: Transaction, { status, headers, text }: ApiResponse) {
  transaction.real = { ...transaction.real, statusCode: status, headers: Object.fromEntries(headers), body: text };
}

function parse(text = '') {
  return text === '' ? undefined : JSON.parse(text);
}
