// Checks a response against the contract: the status, the media type, the headers, the body, and that these are consistent.
// It reads the bundles itself and shares no code with the service, so that a bug in the service cannot hide itself here.
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import type { ApiResponse } from './api-client.ts';
import { dereference } from './dereference.ts';
import { wrongGeneralHeaders } from './general-headers.ts';
import { contradictions } from './response-consistency.ts';

interface DeclaredResponse {
  headers?: Record<string, { required?: boolean; schema: object }>;
  content?: Record<string, { schema: object }>;
}

interface DeclaredOperation {
  operationId: string;
  responses: Record<string, DeclaredResponse>;
}

const apis = [websites, monitoring].map((document) => ({
  root: new URL(document.servers[0]?.url ?? '').pathname,
  document: dereference(document) as { paths: Record<string, Record<string, DeclaredOperation>> },
}));
const undeclaredPathResponse = apis[0]?.document.paths['/websites']?.get?.responses['400'] as DeclaredResponse;

const ajv = new Ajv({ strict: false, allErrors: true, discriminator: true });
formats.default(ajv);
const headerAjv = new Ajv({ strict: false, allErrors: true, coerceTypes: true });
formats.default(headerAjv);
const compiled = new Map<object, ValidateFunction>();

/** Headers of HTTP itself, which every response may have and OpenAPI documents do not list. general-headers.ts checks them. */
const generalHeaders =
  /^(access-control-.+|allow|cache-control|connection|content-(length|type)|date|keep-alive|transfer-encoding|vary|x-content-type-options)$/;

export class ContractViolation extends Error {}

/**
 * The mock returns examples that do not depend on the request, so only their schema is checked. Undeclared headers are violations
 * unless a proxy may have added them.
 */
export function checkAgainstContract(
  method: string,
  path: string,
  response: ApiResponse,
  { isMock = false, allowsOtherHeaders = true } = {},
) {
  const pathname = path.split('?')[0] ?? '';
  const api = apis.find(({ root }) => pathname === root || pathname.startsWith(`${root}/`));
  if (!api) return;
  const { operation, parameters } = findOperation(api.document.paths, method, pathname.slice(api.root.length));
  const fail = (what: string) => {
    throw new ContractViolation(
      `${method} ${path} (${operation?.operationId ?? 'no operation'}) returned ${response.status}: ${what}\n${response.text}`,
    );
  };
  if (!operation) {
    // A path or method outside the contract returns a problem in the common format, or the response to OPTIONS.
    if (response.status === 204 && method === 'OPTIONS') return;
    if (![404, 405, 429].includes(response.status)) fail('the path is unknown, so only 404, 405 and 429 are allowed');
    check(undeclaredPathResponse, method, response, fail);
  } else {
    const declared = operation.responses[response.status];
    if (!declared) return fail('the status is not declared');
    check(declared, method, response, fail);
    const undeclared = allowsOtherHeaders ? [] : undeclaredHeaders(declared, response);
    if (undeclared.length > 0) fail(`the header ${undeclared[0]} is not declared`);
  }
  const [wrong] = allowsOtherHeaders ? [] : wrongGeneralHeaders(response, { isMock, isDeclared: operation !== undefined });
  if (wrong) fail(wrong);
  const [contradiction] = isMock ? [] : contradictions({ method, pathname, parameters }, response);
  if (contradiction) fail(contradiction);
}

function check(declared: DeclaredResponse, method: string, response: ApiResponse, fail: (what: string) => void) {
  for (const [name, { required, schema }] of Object.entries(declared.headers ?? {})) {
    const value = response.headers.get(name);
    if (value === null && required) fail(`the header ${name} is missing`);
    if (value !== null && !validator(headerAjv, schema)({ value })) fail(`the header ${name} is ${value}`);
  }
  const mediaType = response.headers.get('content-type');
  if (!declared.content) {
    if (response.text !== '') fail('the response has a body, but none is declared');
    return;
  }
  const content = declared.content[mediaType ?? ''];
  if (!content) return fail(`the media type ${mediaType} is not declared`);
  if (method === 'HEAD') return;
  const validate = validator(ajv, content.schema);
  if (!validate({ value: response.body })) fail(ajv.errorsText(validate.errors, { dataVar: 'body' }));
}

function undeclaredHeaders(declared: DeclaredResponse, { headers }: ApiResponse): string[] {
  const names = new Set(Object.keys(declared.headers ?? {}).map((name) => name.toLowerCase()));
  return [...headers.keys()].filter((name) => !names.has(name) && !generalHeaders.test(name));
}

/** The schema is wrapped in an object, because Ajv coerces only properties. Undeclared fields in a response are violations. */
function validator(instance: Ajv, schema: object): ValidateFunction {
  let validate = compiled.get(schema);
  if (!validate) {
    validate = instance.compile({ type: 'object', properties: { value: rejectUndeclaredFields(schema) } });
    compiled.set(schema, validate);
  }
  return validate;
}

function rejectUndeclaredFields(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (key, value) => {
    if (key === 'discriminator') return { propertyName: value.propertyName };
    return value?.type === 'object' && value.properties ? { ...value, additionalProperties: false } : value;
  });
}

function findOperation(
  paths: Record<string, Record<string, DeclaredOperation>>,
  method: string,
  path: string,
): { operation?: DeclaredOperation; parameters: Record<string, string> } {
  const segments = path.split('/');
  for (const [template, methods] of Object.entries(paths)) {
    const parts = template.split('/').map((part, index) => [part, segments[index] ?? ''] as const);
    if (parts.length !== segments.length || !parts.every(([part, segment]) => part.startsWith('{') || part === segment)) continue;
    const operation = methods[method === 'HEAD' ? 'get' : method.toLowerCase()];
    const named = parts.filter(([part]) => part.startsWith('{')).map(([part, segment]) => [part.slice(1, -1), segment]);
    return { ...(operation && { operation }), parameters: Object.fromEntries(named) };
  }
  return { parameters: {} };
}
