import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import { dereference } from '../support/dereference.ts';

interface WithExamples {
  schema?: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

/** Yields every part of a document that has a schema and examples: bodies, parameters and headers. */
function* partsWithExamples(node: unknown, path: string): Generator<[path: string, part: WithExamples]> {
  if (typeof node !== 'object' || node === null) return;
  if ('schema' in node && ('example' in node || 'examples' in node)) yield [path, node as WithExamples];
  for (const [key, child] of Object.entries(node)) {
    if (key !== 'schema' && key !== 'example' && key !== 'examples') yield* partsWithExamples(child, `${path}/${key}`);
  }
}

test.each([
  ['websites', websites],
  ['monitoring', monitoring],
])('every example of the %s contract conforms to its schema', (_, document) => {
  const ajv = new Ajv({ strict: false, discriminator: true });
  formats.default(ajv);
  const compile = (schema: string) =>
    ajv.compile(JSON.parse(schema, (key, value) => (key === 'discriminator' ? { propertyName: value.propertyName } : value)));
  // Compiling takes long, and most responses share their schemas.
  const validators = new Map<string, ValidateFunction>();
  const mismatches: string[] = [];
  let count = 0;
  for (const [path, { schema, example, examples: named }] of partsWithExamples(dereference(document), '')) {
    const text = JSON.stringify(schema);
    const validate = validators.get(text) ?? compile(text);
    validators.set(text, validate);
    const values = named ? Object.entries(named).map(([name, { value }]) => [name, value] as const) : [['example', example] as const];
    for (const [name, value] of values) {
      count++;
      if (!validate(value)) mismatches.push(`${path} ${name}: ${ajv.errorsText(validate.errors)}`);
    }
  }
  expect(count).toBeGreaterThan(100);
  expect(mismatches).toEqual([]);
});
