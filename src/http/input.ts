import type { Context } from 'koa';
import { type Fault, Invalid } from '../errors.ts';
import type { Body } from './body.ts';
import type { Operation } from './contract.ts';
import { escapePointer, faultsOf, findBadCharacters, withoutEchoes } from './faults.ts';
import { type Pair, parsePairs } from './pairs.ts';

type Values = Record<string, unknown>;

/** What a handler gets; the types of each operation stand in operations.ts. */
export interface AnyInput {
  path: Values;
  query: Values;
  /** By their names in lower case. */
  header: Record<string, string>;
  body: unknown;
  url: { path: string; query: string };
}

export type AnyRules = (body: Values) => Fault[];

/** Turns the request into the operation's input, or refuses it naming every fault at once. */
export function readInput(
  ctx: Context,
  operation: Operation,
  { pathParameters, body, rules }: { pathParameters: Record<string, string>; body: Body | undefined; rules: AnyRules | undefined },
): AnyInput {
  const faults: Fault[] = [];
  const path: Values = {};
  const query: Values = {};
  const header: Record<string, string> = {};
  const declaresQuery = operation.parameters.some((parameter) => parameter.in === 'query');
  const pairs = declaresQuery ? parsePairs(ctx.querystring, 'The query string') : [];
  for (const { in: place, name, schema } of operation.parameters) {
    if (place === 'path') path[name] = typed(pathParameters[name] ?? '', schema.type);
    if (place === 'header' && ctx.req.headers[name.toLowerCase()] !== undefined) header[name.toLowerCase()] = ctx.get(name);
    if (place === 'query') {
      const values = pairs.filter(([given]) => given === name).map(([, value]) => value);
      if (values.length > 1) faults.push({ in: 'query', name, code: 'repeated', message: 'is given more than once' });
      else if (values[0] !== undefined) query[name] = typed(values[0], schema.type);
    }
  }
  const value = bodyValue(operation, body, faults);
  const checked = { path, query, header, ...(value !== undefined && { requestBody: value }) };
  faults.push(...idempotencyKeyFaults(header));
  // Characters first: what cannot be stored must not be reported as something else.
  faults.push(...findBadCharacters(checked));
  for (const validate of operation.validators()) {
    if (!validate(checked)) faults.push(...faultsOf(validate.errors ?? [], operation));
  }
  if (rules && typeof value === 'object' && value !== null) faults.push(...ruleFaults(rules, value as Values, faults));
  if (faults.length > 0) throw new Invalid(withoutEchoes(faults));
  return { path, query, header, body: value, url: { path: ctx.path, query: ctx.querystring } };
}

/** Quotes around it are not part of it. */
export function idempotencyKeyOf({ header }: Pick<AnyInput, 'header'>): string | undefined {
  return header['idempotency-key']?.replace(/^"(.*)"$/, '$1');
}

/** The schema counts the quotes too, so it cannot say this. */
function idempotencyKeyFaults(header: Record<string, string>): Fault[] {
  const key = idempotencyKeyOf({ header });
  if (key === undefined || (key.length >= 1 && key.length <= 255)) return [];
  return [{ in: 'header', name: 'Idempotency-Key', code: 'length', message: 'must have 1 to 255 characters' }];
}

/** Rules see the fields without a fault; what they then miss in one that has a fault is no second one. */
function ruleFaults(rules: AnyRules, body: Values, faults: Fault[]): Fault[] {
  const fieldOf = ({ pointer }: Fault) => pointer?.split('/')[1];
  const faulty = new Set(faults.map(fieldOf));
  const sound = Object.fromEntries(Object.entries(body).filter(([name]) => !faulty.has(escapePointer(name))));
  return rules(sound).filter((fault) => !faulty.has(fieldOf(fault)));
}

function bodyValue(operation: Operation, body: Body | undefined, faults: Fault[]): unknown {
  if (!operation.body) return undefined;
  if (operation.body.mediaType !== 'application/x-www-form-urlencoded') return body && 'json' in body ? body.json : undefined;
  return formValue(body && 'form' in body ? body.form : [], operation.body.fields, faults);
}

function formValue(pairs: Pair[], fields: Record<string, { type?: string }>, faults: Fault[]): Values {
  const form: Values = Object.create(null);
  for (const [name, value] of pairs) {
    if (name in form) faults.push({ in: 'body', pointer: `/${escapePointer(name)}`, code: 'repeated', message: 'is given more than once' });
    form[name] = typed(value, Object.hasOwn(fields, name) ? fields[name]?.type : undefined);
  }
  return form;
}

/**
 * A text as the value it stands for. What does not stand for one stays a text, which the contract then refuses: so 0x1,
 * 1e1, 1.0, a blank and an empty value are no integers.
 */
function typed(text: string, type: string | undefined): unknown {
  if (type === 'integer') return /^(0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
  if (type === 'boolean') return ({ true: true, '1': true, false: false, '0': false } as Record<string, boolean>)[text] ?? text;
  return text;
}
