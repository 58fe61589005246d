// Requests for fast-check from the contract: such that fit it in every part, and such with one thing wrong.
import fc from 'fast-check';
import { bundles, type ContractOperation } from './contract-operations.ts';
import { dereference } from './dereference.ts';
import { fits, fitting, odd, type Schema } from './schema-values.ts';

/** As it goes over the wire, but for what the sender adds: whose it is, and which objects it is about. */
export interface GeneratedRequest {
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  /** JSON, or the pairs of a form. Absent: the example of the contract is sent, or nothing. */
  body?: { json: unknown } | { form: [name: string, value: string][] };
}

type Place = 'path' | 'query' | 'header';
type Change = (request: GeneratedRequest) => GeneratedRequest;

/** Requests that fit. */
export function fittingRequests(operation: ContractOperation): fc.Arbitrary<GeneratedRequest> {
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

/** Requests with one thing wrong: a wrong value, one too many, or one that is missing. */
export function faultyRequests(operation: ContractOperation): fc.Arbitrary<GeneratedRequest> {
  const whole = fittingRequests(operation).filter(({ body }) => body !== undefined || !operation.body);
  return fc
    .tuple(whole, fc.oneof(...changes(operation)))
    .map(([request, change]) => change(request))
    .filter((request) => isSendable(request) && !fitsContract(operation, request));
}

/** What the schemas say of a request: the oracle of both kinds. */
export function fitsContract(operation: ContractOperation, { path, query, headers, body }: GeneratedRequest): boolean {
  const given = { path: Object.entries(path), query, header: Object.entries(headers) };
  const parametersFit = operation.parameters.every(({ name, in: place, schema }) => {
    const values = given[place as Place].filter(([other]) => other === name).map(([, value]) => value);
    return values.length === 0 || (values.length === 1 && fits(schema as Schema, read(values[0] ?? '', schema as Schema)));
  });
  return parametersFit && (body === undefined || fitsBody(operation, body));
}

function fitsBody(operation: ContractOperation, body: NonNullable<GeneratedRequest['body']>): boolean {
  const schema = bodySchema(operation);
  // A NUL and half of a surrogate pair are refused everywhere, in the names of fields too.
  if (/\\u0000|\\ud[89a-f]../.test(JSON.stringify(body))) return false;
  if ('json' in body) return fits(schema, body.json);
  const names = body.form.map(([name]) => name);
  const value = Object.fromEntries(body.form.map(([name, text]) => [name, read(text, schema.properties?.[name] ?? {})]));
  return new Set(names).size === names.length && fits(schema, value);
}

/** Texts for all parameters of a place, with the optional ones left out at times. */
function texts({ parameters }: ContractOperation, place: Place): fc.Arbitrary<Record<string, string>> {
  const here = parameters.filter((parameter) => parameter.in === place);
  const values = here.map(({ name, schema }) => [name, textOf(fitting(schema as Schema, name))]);
  return fc.record(Object.fromEntries(values), { requiredKeys: place === 'path' ? here.map(({ name }) => name) : [] });
}

function bodies(operation: ContractOperation): fc.Arbitrary<GeneratedRequest['body']> {
  const schema = bodySchema(operation);
  const values = fitting(schema);
  if (operation.body?.mediaType === 'application/json') return values.map((json) => ({ json }));
  return values.map((value) => ({ form: Object.entries(value as object).map(([name, field]) => [name, String(field)]) }));
}

function changes(operation: ContractOperation): fc.Arbitrary<Change>[] {
  const ofParameters = operation.parameters.map(({ name, in: place, schema }): fc.Arbitrary<Change> => {
    const text = oddTexts(schema as Schema);
    if (place === 'path') return text.map((value) => (request) => ({ ...request, path: { ...request.path, [name]: value } }));
    if (place === 'header') return text.map((value) => (request) => ({ ...request, headers: { ...request.headers, [name]: value } }));
    // Set, or added to the one that is there.
    return text.map((value) => (request) => ({ ...request, query: [...request.query, [name, value]] }));
  });
  return operation.body ? [...ofParameters, ...changesOfBody(operation)] : ofParameters;
}

function changesOfBody(operation: ContractOperation): fc.Arbitrary<Change>[] {
  const schema = bodySchema(operation);
  const fields = Object.entries(Object.assign({}, schema.properties, ...(schema.oneOf ?? []).map(({ properties }) => properties))) as [
    string,
    Schema,
  ][];
  const name = fc.oneof(fc.constantFrom(...fields.map(([field]) => field)), fc.string({ maxLength: 10 }), fc.constant('__proto__'));
  if (operation.body?.mediaType !== 'application/json') {
    const added = [
      ...fields.map(([field, one]) => oddTexts(one).map((text) => [field, text] as [string, string])),
      fc.tuple(name, fc.string()),
    ];
    return [
      ...added.map((pair) => pair.map((one): Change => onForm((form) => [...form.filter(([field]) => field !== one[0]), one]))),
      name.map((one): Change => onForm((form) => form.filter(([field]) => field !== one))),
      name.map((one): Change => onForm((form) => [...form, ...form.filter(([field]) => field === one)])),
    ];
  }
  return [
    ...fields.map(([field, one]) => odd(one).map((value): Change => onJson((json) => [...Object.entries(json), [field, value]]))),
    fc.tuple(name, fc.jsonValue()).map((entry): Change => onJson((json) => [...Object.entries(json), entry])),
    name.map((one): Change => onJson((json) => Object.entries(json).filter(([field]) => field !== one))),
    odd(schema).map(
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

/** Texts that may stand for no value of the schema, or for a wrong one. Half a surrogate pair has no form on the wire. */
function oddTexts(schema: Schema): fc.Arbitrary<string> {
  const spellings = fc.constantFrom('', ' ', '0x1', '1e1', '1.0', '01', '+1', ' 1', 'yes', 'TRUE', 'null', 'undefined', '[]', '-0', '١');
  return fc.oneof(spellings, textOf(odd(schema))).map((text) => text.toWellFormed());
}

function textOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return values.map((value) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')));
}

/** The value that a text stands for, as the contract's decisions say; a text where it stands for none. */
function read(text: string, { type }: Schema): unknown {
  if (type === 'integer' && /^(0|-?[1-9]\d*)$/.test(text)) return Number(text);
  if (type === 'boolean' && ['true', '1', 'false', '0'].includes(text)) return text === 'true' || text === '1';
  return text;
}

/** Not all that can be made can be sent: a path has no empty steps, and HTTP takes blanks around a header's value away. */
function isSendable({ path, headers }: GeneratedRequest): boolean {
  return Object.values(path).every((value) => !['', '.', '..'].includes(value) && value.isWellFormed()) && isHeader(headers);
}

function isHeader(headers: Record<string, string>): boolean {
  return Object.values(headers).every((value) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value) && value.trim() === value);
}

const schemas = Object.values(bundles).map((bundle) => dereference(bundle) as { servers: { url: string }[]; paths: Paths });
type Paths = Record<string, Record<string, { requestBody: { content: Record<string, { schema: Schema }> } }>>;

function bodySchema({ api, path, method, body }: ContractOperation): Schema {
  const document = schemas[Object.keys(bundles).indexOf(api)];
  const root = new URL(document?.servers[0]?.url ?? '').pathname;
  return document?.paths[path.slice(root.length)]?.[method.toLowerCase()]?.requestBody.content[body?.mediaType ?? '']?.schema ?? {};
}
