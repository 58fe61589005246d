// Holds an answer against the contract: declared status, media type, headers, body, and that these agree with each other.
// It reads the bundles by itself and shares no code with the service, so that a mistake there cannot excuse itself here.
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import { dereference } from './dereference.ts';
import { contradictions } from './response-consistency.ts';

interface Response {
  status: number;
  headers: Headers;
  body: unknown;
  text: string;
}

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
const strangerResponse = apis[0]?.document.paths['/websites']?.get?.responses['400'] as DeclaredResponse;

const ajv = new Ajv({ strict: false, allErrors: true, discriminator: true });
formats.default(ajv);
const headerAjv = new Ajv({ strict: false, allErrors: true, coerceTypes: true });
formats.default(headerAjv);
const compiled = new Map<object, ValidateFunction>();

export class ContractViolation extends Error {}

/** The mock answers with examples, which know nothing of the request: of them only the form is held. */
export function checkAgainstContract(method: string, path: string, response: Response, { isMock = false } = {}) {
  const pathname = path.split('?')[0] ?? '';
  const api = apis.find(({ root }) => pathname === root || pathname.startsWith(`${root}/`));
  if (!api) return;
  const { operation, parameters } = findOperation(api.document.paths, method, pathname.slice(api.root.length));
  const breach = (what: string) => {
    throw new ContractViolation(
      `${method} ${path} (${operation?.operationId ?? 'no operation'}) answered ${response.status}: ${what}\n${response.text}`,
    );
  };
  if (!operation) {
    // Paths and methods that are in no contract: a problem in the common shape, or the answer to OPTIONS.
    if (response.status === 204 && method === 'OPTIONS') return;
    if (![404, 405, 429].includes(response.status)) breach('is for an unknown path, which may answer 404, 405 or 429');
    check(strangerResponse, method, response, breach);
  } else {
    const declared = operation.responses[response.status];
    if (!declared) return breach('the status is not declared');
    check(declared, method, response, breach);
  }
  const [contradiction] = isMock ? [] : contradictions({ method, pathname, parameters }, response);
  if (contradiction) breach(contradiction);
}

function check(declared: DeclaredResponse, method: string, response: Response, breach: (what: string) => void) {
  for (const [name, { required, schema }] of Object.entries(declared.headers ?? {})) {
    const value = response.headers.get(name);
    if (value === null && required) breach(`the header ${name} is missing`);
    if (value !== null && !validator(headerAjv, schema)({ value })) breach(`the header ${name} is ${value}`);
  }
  const mediaType = response.headers.get('content-type');
  if (!declared.content) {
    if (response.text !== '') breach('there is a body, but none is declared');
    return;
  }
  const content = declared.content[mediaType ?? ''];
  if (!content) return breach(`the media type ${mediaType} is not declared`);
  if (method === 'HEAD') return;
  const validate = validator(ajv, content.schema);
  if (!validate({ value: response.body })) breach(ajv.errorsText(validate.errors, { dataVar: 'body' }));
}

/** Wrapped in an object, because only there can a header be coerced. Answers are closed: a field nobody declared is a breach. */
function validator(by: Ajv, schema: object): ValidateFunction {
  let validate = compiled.get(schema);
  if (!validate) {
    validate = by.compile({ type: 'object', properties: { value: closed(schema) } });
    compiled.set(schema, validate);
  }
  return validate;
}

function closed(schema: object): object {
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
  const steps = path.split('/');
  for (const [template, methods] of Object.entries(paths)) {
    const parts = template.split('/').map((part, index) => [part, steps[index] ?? ''] as const);
    if (parts.length !== steps.length || !parts.every(([part, step]) => part.startsWith('{') || part === step)) continue;
    const operation = methods[method === 'HEAD' ? 'get' : method.toLowerCase()];
    const named = parts.filter(([part]) => part.startsWith('{')).map(([part, step]) => [part.slice(1, -1), step]);
    return { ...(operation && { operation }), parameters: Object.fromEntries(named) };
  }
  return { parameters: {} };
}
