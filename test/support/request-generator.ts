// Generates requests from the contract with fast-check: requests that are valid, and requests with exactly one invalid part.
import fc from 'fast-check';
import { bundles, type ContractOperation } from './contract-operations.ts';
import { dereference } from './dereference.ts';
import { edgeValues, matches, type Schema, validValues } from './schema-values.ts';

/** A request without the parts that the test adds: the credentials and the ids of existing resources. */
export interface GeneratedRequest {
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  /** A JSON value, or the fields of a form. If absent, the test sends the contract's example, if there is one. */
  body?: { json: unknown } | { form: [name: string, value: string][] };
}

type ParameterLocation = 'path' | 'query' | 'header';
type Change = (request: GeneratedRequest) => GeneratedRequest;

/** Generates requests that are valid according to the schemas. */
export function arbitraryValidRequest(operation: ContractOperation): fc.Arbitrary<GeneratedRequest> {
  return fc.record(
    {
      path: texts(operation, 'path'),
      query: texts(operation, 'query').map((values) => Object.entries(values)),
      headers: texts(operation, 'header').filter(isHeader),
      ...(operation.body && { body: bodies(operation) }),
    },
    { requiredKeys: ['path', 'query', 'headers'] },
  ) as fc.Arbitrary<GeneratedRequest>;
}

/** Generates requests with one invalid part: a wrong value, an extra value or a missing value. */
export function arbitraryInvalidRequest(operation: ContractOperation): fc.Arbitrary<GeneratedRequest> {
  const complete = arbitraryValidRequest(operation).filter(({ body }) => body !== undefined || !operation.body);
  return fc
    .tuple(complete, fc.oneof(...changes(operation)))
    .map(([request, change]) => change(request))
    .filter((request) => isSendable(request) && !matchesContract(operation, request));
}

/** Returns whether the request is valid according to the schemas. It is the oracle for both generators. */
export function matchesContract(operation: ContractOperation, { path, query, headers, body }: GeneratedRequest): boolean {
  const given = { path: Object.entries(path), query, header: Object.entries(headers) };
  const parametersMatch = operation.parameters.every(({ name, in: location, schema }) => {
    const values = given[location as ParameterLocation].filter(([other]) => other === name).map(([, value]) => value);
    return values.length === 0 || (values.length === 1 && matches(schema as Schema, decode(values[0] ?? '', schema as Schema)));
  });
  return parametersMatch && (body === undefined || bodyMatches(operation, body));
}

function bodyMatches(operation: ContractOperation, body: NonNullable<GeneratedRequest['body']>): boolean {
  const schema = bodySchema(operation);
  // NUL and unpaired surrogates are rejected everywhere, including in field names.
  if (/\\u0000|\\ud[89a-f]../.test(JSON.stringify(body))) return false;
  if ('json' in body) return matches(schema, body.json);
  const names = body.form.map(([name]) => name);
  const value = Object.fromEntries(body.form.map(([name, text]) => [name, decode(text, schema.properties?.[name] ?? {})]));
  return new Set(names).size === names.length && matches(schema, value);
}

/** Generates texts for all parameters in a location. Optional parameters are sometimes left out. */
function texts({ parameters }: ContractOperation, location: ParameterLocation): fc.Arbitrary<Record<string, string>> {
  const inLocation = parameters.filter((parameter) => parameter.in === location);
  const values = inLocation.map(({ name, schema }) => [name, textOf(validValues(schema as Schema, name))]);
  return fc.record(Object.fromEntries(values), { requiredKeys: location === 'path' ? inLocation.map(({ name }) => name) : [] });
}

function bodies(operation: ContractOperation): fc.Arbitrary<GeneratedRequest['body']> {
  const schema = bodySchema(operation);
  const values = validValues(schema);
  if (operation.body?.mediaType === 'application/json') return values.map((json) => ({ json }));
  return values.map((value) => ({ form: Object.entries(value as object).map(([name, field]) => [name, String(field)]) }));
}

function changes(operation: ContractOperation): fc.Arbitrary<Change>[] {
  const parameterChanges = operation.parameters.map(({ name, in: location, schema }): fc.Arbitrary<Change> => {
    const text = edgeTexts(schema as Schema);
    if (location === 'path') return text.map((value) => (request) => ({ ...request, path: { ...request.path, [name]: value } }));
    if (location === 'header') return text.map((value) => (request) => ({ ...request, headers: { ...request.headers, [name]: value } }));
    // This adds the parameter, or repeats it if it is already present.
    return text.map((value) => (request) => ({ ...request, query: [...request.query, [name, value]] }));
  });
  return operation.body ? [...parameterChanges, ...bodyChanges(operation)] : parameterChanges;
}

function bodyChanges(operation: ContractOperation): fc.Arbitrary<Change>[] {
  const schema = bodySchema(operation);
  const fields = Object.entries(Object.assign({}, schema.properties, ...(schema.oneOf ?? []).map(({ properties }) => properties))) as [
    string,
    Schema,
  ][];
  const name = fc.oneof(fc.constantFrom(...fields.map(([field]) => field)), fc.string({ maxLength: 10 }), fc.constant('__proto__'));
  if (operation.body?.mediaType !== 'application/json') {
    const added = [
      ...fields.map(([field, one]) => edgeTexts(one).map((text) => [field, text] as [string, string])),
      fc.tuple(name, fc.string()),
    ];
    return [
      ...added.map((pair) => pair.map((one): Change => onForm((form) => [...form.filter(([field]) => field !== one[0]), one]))),
      name.map((one): Change => onForm((form) => form.filter(([field]) => field !== one))),
      name.map((one): Change => onForm((form) => [...form, ...form.filter(([field]) => field === one)])),
    ];
  }
  return [
    ...fields.map(([field, one]) => edgeValues(one).map((value): Change => onJson((json) => [...Object.entries(json), [field, value]]))),
    fc.tuple(name, fc.jsonValue()).map((entry): Change => onJson((json) => [...Object.entries(json), entry])),
    name.map((one): Change => onJson((json) => Object.entries(json).filter(([field]) => field !== one))),
    edgeValues(schema).map(
      (json): Change =>
        (request) => ({ ...request, body: { json } }),
    ),
  ];
}

function onJson(change: (json: object) => [string, unknown][]): Change {
  return (request) => ({ ...request, body: { json: Object.fromEntries(change((request.body as { json: object }).json)) } });
}

function onForm(change: (form: [string, string][]) => [string, string][]): Change {
  return (request) => ({ ...request, body: { form: change((request.body as { form: [string, string][] }).form) } });
}

/** Generates texts that may encode an invalid value or none. Unpaired surrogates are replaced, because they cannot be encoded in UTF-8. */
function edgeTexts(schema: Schema): fc.Arbitrary<string> {
  const spellings = fc.constantFrom('', ' ', '0x1', '1e1', '1.0', '01', '+1', ' 1', 'yes', 'TRUE', 'null', 'undefined', '[]', '-0', '١');
  return fc.oneof(spellings, textOf(edgeValues(schema))).map((text) => text.toWellFormed());
}

function textOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return values.map((value) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')));
}

/** Decodes a text as openapi/DECISIONS.md specifies. Returns the text itself if it encodes no value of the type. */
function decode(text: string, { type }: Schema): unknown {
  if (type === 'integer' && /^(0|-?[1-9]\d*)$/.test(text)) return Number(text);
  if (type === 'boolean' && ['true', '1', 'false', '0'].includes(text)) return text === 'true' || text === '1';
  return text;
}

/** Excludes requests that cannot be sent as generated: path segments cannot be empty, and HTTP strips spaces around header values. */
function isSendable({ path, headers }: GeneratedRequest): boolean {
  return Object.values(path).every((value) => !['', '.', '..'].includes(value) && value.isWellFormed()) && isHeader(headers);
}

function isHeader(headers: Record<string, string>): boolean {
  return Object.values(headers).every((value) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value) && value.trim() === value);
}

const documents = Object.values(bundles).map((bundle) => dereference(bundle) as { servers: { url: string }[]; paths: Paths });
type Paths = Record<string, Record<string, { requestBody: { content: Record<string, { schema: Schema }> } }>>;

export function bodySchema({ api, path, method, body }: ContractOperation): Schema {
  const document = documents[Object.keys(bundles).indexOf(api)];
  const root = new URL(document?.servers[0]?.url ?? '').pathname;
  return document?.paths[path.slice(root.length)]?.[method.toLowerCase()]?.requestBody.content[body?.mediaType ?? '']?.schema ?? {};
}
