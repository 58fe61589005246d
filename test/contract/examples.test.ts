import { Ajv } from 'ajv';
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

/** Every place of a document that has a schema and examples beside it: bodies, parameters, headers. */
function* placesWithExamples(at: unknown, path: string): Generator<[path: string, place: WithExamples]> {
  if (typeof at !== 'object' || at === null) return;
  if ('schema' in at && ('example' in at || 'examples' in at)) yield [path, at as WithExamples];
  for (const [key, child] of Object.entries(at)) {
    if (key !== 'schema' && key !== 'example' && key !== 'examples') yield* placesWithExamples(child, `${path}/${key}`);
  }
}

test.each([
  ['websites', websites],
  ['monitoring', monitoring],
])('every example of the %s contract fits its schema', (_, document) => {
  const ajv = new Ajv({ strict: false, discriminator: true });
  formats.default(ajv);
  const misfits: string[] = [];
  let examples = 0;
  for (const [path, { schema, example, examples: named }] of placesWithExamples(dereference(document), '')) {
    const validate = ajv.compile(
      JSON.parse(JSON.stringify(schema), (key, value) => (key === 'discriminator' ? { propertyName: value.propertyName } : value)),
    );
    const values = named ? Object.entries(named).map(([name, { value }]) => [name, value] as const) : [['example', example] as const];
    for (const [name, value] of values) {
      examples++;
      if (!validate(value)) misfits.push(`${path} ${name}: ${ajv.errorsText(validate.errors)}`);
    }
  }
  expect(examples).toBeGreaterThan(100);
  expect(misfits).toEqual([]);
});
