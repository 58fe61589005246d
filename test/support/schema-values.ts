// Generates values from the schemas of the contract with fast-check: valid ones, and ones near or beyond the limits. The
// generators are approximate. Ajv decides whether a value is valid (`matches`), without any code of the service.
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import fc from 'fast-check';

export interface Schema {
  type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  nullable?: boolean;
  readOnly?: boolean;
  enum?: (string | number)[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  properties?: Record<string, Schema>;
  required?: string[];
}

const ajv = new Ajv({ strict: false, discriminator: true });
formats.default(ajv);
const compiled = new WeakMap<Schema, ValidateFunction>();

export function matches(schema: Schema, value: unknown): boolean {
  let validate = compiled.get(schema);
  if (!validate) {
    // Ajv does not support a discriminator with a mapping. The mapping is redundant here, because each branch names its value.
    const plain = JSON.stringify(schema, (key, part) => (key === 'discriminator' ? { propertyName: part.propertyName } : part));
    validate = ajv.compile(JSON.parse(plain));
    compiled.set(schema, validate);
  }
  return validate(value);
}

/** Generators of realistic values by field and parameter name. Text generated from a schema alone is rarely realistic. */
const realistic: Record<string, fc.Arbitrary<string>> = {
  domain: fc.oneof(fc.domain(), fc.webUrl()),
  url: fc.oneof(fc.webUrl(), fc.domain(), fc.ipV4(), fc.ipV6()),
  webhook_url: fc.webPath().map((path) => `https://hooks.slack.com/services${path}`),
  exclude_ips: fc.array(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 5 }).map((lines) => lines.join('\n')),
  exclude_params: fc.array(fc.stringMatching(/^[a-z_]{1,20}$/), { maxLength: 5 }).map((lines) => lines.join('\r\n')),
  'If-Match': fc.constant('*'),
  'Idempotency-Key': fc.uuid(),
};

/** Generates values that are valid according to the schema. */
export function validValues(schema: Schema, name = ''): fc.Arbitrary<unknown> {
  const generated = fromSchema(schema).filter((value) => matches(schema, value) && isWellFormedText(value));
  const named = realistic[name]?.filter((value) => matches(schema, value));
  return named ? fc.oneof({ weight: 3, arbitrary: named }, { weight: 1, arbitrary: generated }) : generated;
}

function fromSchema(schema: Schema): fc.Arbitrary<unknown> {
  const { nullable, ...rest } = schema;
  if (nullable) return fc.oneof(fc.constant(null), fromSchema(rest));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const branches = schema.oneOf ?? schema.anyOf;
  if (branches) return fc.oneof(...branches.map((branch) => validValues(branch)));
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(
        fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 0),
        fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 }),
      );
    case 'number':
      return fc.double({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000, noNaN: true }).filter((value) => !Object.is(value, -0));
    case 'array':
      return fc.uniqueArray(validValues(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: schema.maxItems ?? 5,
      });
    case 'object':
      return objects(schema);
    default:
      return texts(schema);
  }
}

function objects({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties).map(([name, field]) => [name, validValues(field, name)]);
  return fc.record<Record<string, unknown>, string>(Object.fromEntries(fields), { requiredKeys: required });
}

function texts({ format, pattern, minLength = 0, maxLength = 100 }: Schema): fc.Arbitrary<string> {
  if (format === 'email') return fc.emailAddress();
  if (format === 'uri') return fc.webUrl();
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }).map((date) => date.toISOString());
  if (pattern && !pattern.startsWith('^[^')) return fc.stringMatching(new RegExp(pattern), { maxLength });
  // The text is of any length, of the maximum length or of the minimum length.
  const unit = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  return fc.oneof(
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 50) }),
    unit.map((text) => text.repeat(maxLength).slice(0, maxLength)),
    fc.constant('x'.repeat(minLength)),
  );
}

/** UTF-8 cannot encode unpaired surrogates, so the service rejects them. A pattern cannot express that well. */
function isWellFormedText(value: unknown): boolean {
  return typeof value !== 'string' || value.isWellFormed();
}

/** Generates values near the limits of the schema and values of other types. Most are invalid; `matches` decides. */
export function edgeValues({ type, minimum, maximum, minLength, maxLength, enum: allowed }: Schema): fc.Arbitrary<unknown> {
  const edges: unknown[] = [null, true, 0, -1, 1.5, 1e20, '', ' ', '\u0000', '\ud800', 'x', '****wxyz', [], {}, [null], { x: 1 }];
  if (minimum !== undefined) edges.push(minimum - 1);
  if (maximum !== undefined) edges.push(maximum + 1, maximum * 10);
  if (minLength) edges.push('x'.repeat(minLength - 1));
  if (maxLength !== undefined) edges.push('x'.repeat(maxLength + 1));
  if (allowed) edges.push(`${allowed[0]}`.toUpperCase(), `${allowed[0]} `, [...allowed]);
  if (type === 'array')
    edges.push(
      ['x'],
      Array.from({ length: 200 }, () => 'monitors:read'),
      ['monitors:read', 'monitors:read'],
    );
  return fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...edges) }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
}
