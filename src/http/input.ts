import type { Context } from 'koa';
import { InvalidRequest, type ValidationError } from '../errors.ts';
import type { Body } from './body.ts';
import { cutToBounds } from './bounds.ts';
import type { Operation } from './contract.ts';
import type { Checked } from './operations.ts';
import { type FormField, parseUrlencoded } from './urlencoded.ts';
import { dropRedundant, escapePointer, findInvalidCharacters, pointerTo, validationErrorsOf } from './validation-errors.ts';

type Values = Record<string, unknown>;

/** The input of any handler. operations.ts has the exact types of each operation. */
export interface AnyInput {
  path: Values;
  query: Values;
  /** Header names are in lower case. */
  header: Record<string, string>;
  body: unknown;
  url: { path: string; query: string };
}

export type AnyRules = (body: Values, sent: ReadonlySet<string>) => Checked<Values>;

/** Parses and validates the request. Throws InvalidRequest with every error at once. */
export function readInput(
  ctx: Context,
  operation: Operation,
  { pathParameters, body, rules }: { pathParameters: Record<string, string>; body: Body | undefined; rules: AnyRules | undefined },
): AnyInput {
  const errors: ValidationError[] = [];
  const path: Values = {};
  const query: Values = {};
  const header: Record<string, string> = {};
  const hasQueryParameters = operation.parameters.some((parameter) => parameter.in === 'query');
  const queryFields = hasQueryParameters ? parseUrlencoded(ctx.querystring, 'The query string') : [];
  for (const { in: location, name, schema } of operation.parameters) {
    if (location === 'path') path[name] = parseValue(pathParameters[name] ?? '', schema.type);
    if (location === 'header' && ctx.req.headers[name.toLowerCase()] !== undefined) header[name.toLowerCase()] = ctx.get(name);
    if (location === 'query') {
      const values = queryFields.filter(([given]) => given === name).map(([, value]) => value);
      if (values.length > 1) errors.push({ in: 'query', name, ...repeated });
      else if (values[0] !== undefined) query[name] = parseValue(values[0], schema.type);
    }
  }
  const value = bodyValue(operation, body, errors);
  const validated = { path, query, header, ...(value !== undefined && { requestBody: value }) };
  // Invalid characters come first, because they are the reason for other errors at the same location.
  const found = [errors, idempotencyKeyErrors(header), findInvalidCharacters(validated)];
  for (const validate of operation.validators()) {
    if (!validate(validated)) found.push(validationErrorsOf(validate.errors ?? [], operation));
  }
  if (isObject(value) && !Array.isArray(value)) {
    if (rules) found.push(applyRules(rules, value, found.flat()));
    for (const name of operation.body?.readOnlyFields ?? []) delete value[name];
  }
  const all = found.flat();
  if (all.length > 0) throw new InvalidRequest(dropRedundant(all));
  return { path, query, header, body: value, url: { path: ctx.path, query: ctx.querystring } };
}

const repeated = { code: 'repeated', message: 'must not be given more than once' };

/** Quotes around the key are optional and not part of it. */
export function idempotencyKeyOf({ header }: Pick<AnyInput, 'header'>): string | undefined {
  return header['idempotency-key']?.replace(/^"(.*)"$/, '$1');
}

/** A schema would count the quotes, so the length is checked here. */
function idempotencyKeyErrors(header: Record<string, string>): ValidationError[] {
  const key = idempotencyKeyOf({ header });
  if (key === undefined || (key.length >= 1 && key.length <= 255)) return [];
  return [{ in: 'header', name: 'Idempotency-Key', code: 'length', message: 'must have 1 to 255 characters' }];
}

/**
 * Rules get only the valid fields. Their errors about other fields are dropped, because those have an error already. Writes the
 * normal form of fields into the body.
 */
function applyRules(rules: AnyRules, body: Values, errors: ValidationError[]): ValidationError[] {
  const invalid = new Set(errors.map(fieldOf));
  const valid = errors.length === 0 ? body : Object.fromEntries(Object.entries(body).filter(([name]) => !invalid.has(escapePointer(name))));
  const checked = rules(valid, new Set(Object.keys(body)));
  Object.assign(body, checked.normalized);
  return checked.errors.filter((error) => !invalid.has(fieldOf(error)));
}

function fieldOf({ pointer }: ValidationError): string | undefined {
  return pointer?.split('/')[1];
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null;
}

function bodyValue({ body: declared }: Operation, body: Body | undefined, errors: ValidationError[]): unknown {
  if (!declared) return undefined;
  if (declared.mediaType === 'application/x-www-form-urlencoded') {
    const form = parseForm(body && 'form' in body ? body.form : [], declared.fields, errors);
    return cutToBounds(form, declared.schema, body?.bytes ?? 0);
  }
  return body && 'json' in body ? cutToBounds(body.json, declared.schema, body.bytes) : undefined;
}

function parseForm(formFields: FormField[], fields: Record<string, { type?: string }>, errors: ValidationError[]): Values {
  const form: Values = Object.create(null);
  for (const [name, value] of formFields) {
    if (name in form) errors.push({ in: 'body', pointer: pointerTo(name), ...repeated });
    form[name] = parseValue(value, Object.hasOwn(fields, name) ? fields[name]?.type : undefined);
  }
  return form;
}

/** Python writes True and False. */
const booleans = new Map([
  ['true', true],
  ['True', true],
  ['1', true],
  ['false', false],
  ['False', false],
  ['0', false],
]);

/**
 * Parses text as the type that the contract declares. Text that is not of that type is returned as it is, and the schema then
 * rejects it: 0x1, 1e1, 1.0, a space and an empty value are not integers.
 */
function parseValue(text: string, type: string | undefined): unknown {
  if (type === 'integer') return /^(0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
  if (type === 'boolean') return booleans.get(text) ?? text;
  return text;
}
