import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apis } from '../../openapi/tools/bundle.ts';
import { dereference } from '../support/dereference.ts';

// biome-ignore lint/suspicious/noExplicitAny: a contract is walked here, and its own lint guarantees the fields
type Json = any;

describe.each(apis)('links of %s', (api) => {
  const file = join(import.meta.dirname, '../../generated', `${api}.json`);
  const { paths } = dereference(JSON.parse(readFileSync(file, 'utf8'))) as Json;
  const operations = Object.entries<Json>(paths).flatMap(([path, { parameters = [], ...item }]) =>
    Object.values<Json>(item).map((operation) => ({ ...operation, path, parameters: [...parameters, ...(operation.parameters ?? [])] })),
  );
  const responses = operations.flatMap((from) =>
    Object.entries<Json>(from.responses).map(([status, answer]) => ({ from, status, answer })),
  );
  const links = responses.flatMap(({ from, status, answer }) =>
    Object.entries<Json>(answer.links ?? {}).map(([name, link]): [string, Json, Json] => [
      `${from.operationId} ${status} → ${name}`,
      link,
      answer,
    ]),
  );

  test.each(links)('%s: gives parameters that the operation has, from fields that the answer has', (_, link, answer) => {
    const target = operations.find(({ operationId }) => operationId === link.operationId);
    const names = target?.parameters.map(({ name }: Json) => name);
    const { data } = answer.content['application/json'].schema.properties;
    const fields = [data, ...(data.oneOf ?? []), ...(data.oneOf ?? []).flatMap(({ allOf }: Json) => allOf ?? []), ...(data.allOf ?? [])];
    for (const [parameter, expression] of Object.entries<string>(link.parameters)) {
      expect(names).toContain(parameter);
      const [, field = ''] = /^\$response\.body#\/data\/(\w+)$/.exec(expression) ?? [];
      expect(fields.flatMap(({ properties = {} }) => Object.keys(properties))).toContain(field);
    }
  });

  test('what is created leads to every operation that takes its id', () => {
    const created = operations.filter(
      ({ responses, path }) => responses['201']?.content && operations.some((other) => other.path === `${path}/{id}`),
    );
    expect(created.length).toBeGreaterThan(0);
    for (const { path, responses } of created) {
      const led = Object.values<Json>(responses['201'].links).map(({ operationId }) => operationId);
      const takers = operations.filter((other) => other.path.startsWith(`${path}/{id}`)).map(({ operationId }) => operationId);
      // It needs a provider as well, so the assignment itself leads there.
      expect([...led, 'removeNotification']).toEqual(expect.arrayContaining(takers));
    }
  });
});
