import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apis } from '../../openapi/tools/bundle.ts';
import { dereference } from '../support/dereference.ts';

// biome-ignore lint/suspicious/noExplicitAny: npm run lint:spec already guarantees the structure of the contract
type Json = any;

describe.each(apis)('links of %s', (api) => {
  const file = join(import.meta.dirname, '../../generated', `${api}.json`);
  const { paths } = dereference(JSON.parse(readFileSync(file, 'utf8'))) as Json;
  const operations = Object.entries<Json>(paths).flatMap(([path, { parameters = [], ...item }]) =>
    Object.values<Json>(item).map((operation) => ({ ...operation, path, parameters: [...parameters, ...(operation.parameters ?? [])] })),
  );
  const responses = operations.flatMap((from) =>
    Object.entries<Json>(from.responses).map(([status, response]) => ({ from, status, response })),
  );
  const links = responses.flatMap(({ from, status, response }) =>
    Object.entries<Json>(response.links ?? {}).map(([name, link]): [string, Json, Json] => [
      `${from.operationId} ${status} → ${name}`,
      link,
      response,
    ]),
  );

  test.each(links)('%s fills declared parameters from declared response fields', (_, link, response) => {
    const target = operations.find(({ operationId }) => operationId === link.operationId);
    const names = target?.parameters.map(({ name }: Json) => name);
    const { data } = response.content['application/json'].schema.properties;
    const fields = [data, ...(data.oneOf ?? []), ...(data.oneOf ?? []).flatMap(({ allOf }: Json) => allOf ?? []), ...(data.allOf ?? [])];
    for (const [parameter, expression] of Object.entries<string>(link.parameters)) {
      expect(names).toContain(parameter);
      const [, field = ''] = /^\$response\.body#\/data\/(\w+)$/.exec(expression) ?? [];
      expect(fields.flatMap(({ properties = {} }) => Object.keys(properties))).toContain(field);
    }
  });

  test('lead from a created resource to every operation that takes its id', () => {
    const created = operations.filter(
      ({ responses, path }) => responses['201']?.content && operations.some((other) => other.path === `${path}/{id}`),
    );
    expect(created.length).toBeGreaterThan(0);
    for (const { path, responses } of created) {
      const linked = Object.values<Json>(responses['201'].links).map(({ operationId }) => operationId);
      const expected = operations.filter((other) => other.path.startsWith(`${path}/{id}`)).map(({ operationId }) => operationId);
      // removeNotification also needs a provider id, so it is linked from the assignment instead.
      expect([...linked, 'removeNotification']).toEqual(expect.arrayContaining(expected));
    }
  });
});
