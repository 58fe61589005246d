// The limits that the contract declares for the inputs of an operation, with values at each limit and just beyond it.
import type { ContractOperation } from './contract-operations.ts';
import { bodySchema } from './request-generator.ts';
import { matches, type Schema } from './schema-values.ts';

export interface Limit {
  in: string;
  name: string;
  keyword: Keyword;
  /** The codes of the validation errors for a value beyond the limit. */
  code: string;
  /** Values at the limit. If none can be valid for another reason, there are none. */
  allowed: unknown[];
  beyond: unknown[];
  /** The value of the discriminator of the body that has this field. */
  variant?: string;
}

const codes = {
  minLength: 'min_length',
  maxLength: 'max_length',
  minimum: 'minimum',
  maximum: 'maximum',
  minItems: 'min_items',
  maxItems: 'max_items',
} as const;
type Keyword = keyof typeof codes;
const keywords = Object.keys(codes) as Keyword[];

export function limitsOf(operation: ContractOperation): Limit[] {
  const inParameters = operation.parameters.flatMap(({ in: location, name, schema }) => limitsOfValue(location, name, schema as Schema));
  if (!operation.body) return inParameters;
  const { properties = {}, oneOf = [] } = bodySchema(operation);
  const inVariants = oneOf.flatMap((variant) =>
    limitsOfFields(variant.properties ?? {}).map((limit) => ({ ...limit, variant: String(variant.properties?.provider_type?.enum?.[0]) })),
  );
  return [...inParameters, ...limitsOfFields(properties), ...inVariants];
}

function limitsOfFields(properties: Record<string, Schema>): Limit[] {
  return Object.entries(properties).flatMap(([name, schema]) => limitsOfValue('body', name, schema));
}

function limitsOfValue(location: string, name: string, schema: Schema): Limit[] {
  const branches = schema.oneOf ?? schema.anyOf;
  // A value beyond the limit of one branch must not be valid in another one.
  if (branches) {
    return branches
      .flatMap((branch) => limitsOfValue(location, name, branch))
      .flatMap((limit) => {
        const beyond = limit.beyond.filter((value) => !matches(schema, value));
        return beyond.length > 0 ? [{ ...limit, beyond, code: 'form' }] : [];
      });
  }
  return keywords.flatMap((keyword) => {
    const limit = schema[keyword];
    if (limit === undefined) return [];
    if (location === 'path' && keyword === 'minLength') return []; // A path with an empty segment is another path.
    const next = keyword.startsWith('min') ? limit - 1 : limit + 1;
    const code = name === 'Idempotency-Key' ? 'length' : codes[keyword];
    const allowed = valuesOf(name, schema, limit).filter((value) => matches(schema, value));
    return [{ in: location, name, keyword, code, allowed, beyond: valuesOf(name, schema, next) }];
  });
}

/** Texts that are followed by any characters. Other texts of that length would be invalid for another reason. */
const beginnings: Record<string, string> = {
  domain: 'https://example.com/',
  url: 'https://example.com/',
  webhook_url: 'https://hooks.slack.com/',
  heartbeat_url: 'https://example.com/',
  phone_number: '+1',
};

/** Items must not be repeated. */
function itemOf(items: Schema | undefined, index: number): unknown {
  if (items?.type === 'integer') return index + 1;
  return items?.enum ? (items.enum[index] ?? 'unknown') : `item-${index}`;
}

/** Returns values of a size. Characters outside the Basic Multilingual Plane count once, although they have two code units. */
function valuesOf(name: string, { type, format, pattern = '', items }: Schema, size: number): unknown[] {
  if (type === 'integer') return [size];
  if (type === 'array') return [Array.from({ length: size }, (_, index) => itemOf(items, index))];
  const begin = beginnings[name] ?? '';
  if (pattern.startsWith('^\\*{4}')) return [`****${'x'.repeat(size - 4)}`];
  if (size <= begin.length) return ['x'.repeat(size)];
  const rest = size - begin.length;
  if (name === 'Idempotency-Key') return size < 2 ? ['x'.repeat(size)] : [`"${'x'.repeat(size - 2)}"`];
  if (name === 'token') return [`${'1'.repeat(20)}:${'A'.repeat(Math.max(0, size - 21))}`];
  if (name.startsWith('exclude_')) return [' '.repeat(size)]; // A line is trimmed. A form encodes a space as one byte.
  if (format === 'email') return [`${'x'.repeat(size - 12)}@example.com`];
  if (format === 'date-time') return [`2099-12-31T00:00:00.${'0'.repeat(size - 21)}Z`];
  if (/^\^\S*\\d/.test(pattern)) return [begin + '1'.repeat(rest)];
  const takesAnyCharacter = pattern.startsWith('^[^') && begin === '';
  return [begin + 'x'.repeat(rest), ...(takesAnyCharacter ? ['😀'.repeat(size)] : [])];
}
