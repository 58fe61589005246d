// Values for fast-check by the schemas of the contract: such that fit, and such that break one rule or another. They are
// made loosely; what fits and what does not is Ajv's word (`fits`), which shares no code with the service.
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import fc from 'fast-check';

export interface Schema {
  type?: 'string' | 'integer' | 'boolean' | 'array' | 'object';
  nullable?: boolean;
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

export function fits(schema: Schema, value: unknown): boolean {
  let validate = compiled.get(schema);
  if (!validate) {
    // Ajv refuses a mapping beside a discriminator; each branch says its own value already.
    const plain = JSON.stringify(schema, (key, part) => (key === 'discriminator' ? { propertyName: part.propertyName } : part));
    validate = ajv.compile(JSON.parse(plain));
    compiled.set(schema, validate);
  }
  return validate(value);
}

/** Values that mean something, by the names of fields and parameters. Text made from a schema alone seldom does. */
const meaningful: Record<string, fc.Arbitrary<string>> = {
  domain: fc.oneof(fc.domain(), fc.webUrl()),
  url: fc.oneof(fc.webUrl(), fc.domain(), fc.ipV4(), fc.ipV6()),
  webhook_url: fc.webPath().map((path) => `https://hooks.slack.com/services${path}`),
  exclude_ips: fc.array(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 5 }).map((lines) => lines.join('\n')),
  exclude_params: fc.array(fc.stringMatching(/^[a-z_]{1,20}$/), { maxLength: 5 }).map((lines) => lines.join('\r\n')),
  'If-Match': fc.constant('*'),
  'Idempotency-Key': fc.uuid(),
};

/** Values that fit. */
export function fitting(schema: Schema, name = ''): fc.Arbitrary<unknown> {
  const made = fromSchema(schema).filter((value) => fits(schema, value) && isText(value));
  const named = meaningful[name]?.filter((value) => fits(schema, value));
  return named ? fc.oneof({ weight: 3, arbitrary: named }, { weight: 1, arbitrary: made }) : made;
}

function fromSchema(schema: Schema): fc.Arbitrary<unknown> {
  const { nullable, ...rest } = schema;
  if (nullable) return fc.oneof(fc.constant(null), fromSchema(rest));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const branches = schema.oneOf ?? schema.anyOf;
  if (branches) return fc.oneof(...branches.map((branch) => fitting(branch)));
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(
        fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 0),
        fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 }),
      );
    case 'array':
      return fc.uniqueArray(fitting(schema.items ?? {}), {
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
  const fields = Object.entries(properties).map(([name, field]) => [name, fitting(field, name)]);
  return fc.record<Record<string, unknown>, string>(Object.fromEntries(fields), { requiredKeys: required });
}

function texts({ format, pattern, minLength = 0, maxLength = 100 }: Schema): fc.Arbitrary<string> {
  if (format === 'email') return fc.emailAddress();
  if (format === 'uri') return fc.webUrl();
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }).map((date) => date.toISOString());
  if (pattern && !pattern.startsWith('^[^')) return fc.stringMatching(new RegExp(pattern), { maxLength });
  // Of each length that matters: as short and as long as may be.
  const unit = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  return fc.oneof(
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 50) }),
    unit.map((text) => text.repeat(maxLength).slice(0, maxLength)),
    fc.constant('x'.repeat(minLength)),
  );
}

/** PostgreSQL has no NUL and UTF-8 no half of a surrogate pair: no string may hold either, which a pattern says badly. */
function isText(value: unknown): boolean {
  return typeof value !== 'string' || value.isWellFormed();
}

/** Values near the schema's edges and of other types; most of them break it, and `fits` tells. */
export function odd({ type, minimum, maximum, minLength, maxLength, enum: allowed }: Schema): fc.Arbitrary<unknown> {
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
