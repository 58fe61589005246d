import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contractChanges, levels } from '../../openapi/tools/contract-changes.ts';
import { isNamed, objections } from '../../openapi/tools/diff.ts';
import type { Document } from '../../openapi/tools/merge-documents.ts';

const root = join(import.meta.dirname, '../..');
const load = (api: string): Document => JSON.parse(readFileSync(join(root, 'generated', `${api}.json`), 'utf8'));
const websites = load('websites');
const monitoring = load('monitoring');

// biome-ignore lint/suspicious/noExplicitAny: the plants reach anywhere into a contract
type Json = any;
type Plant = (contract: Json) => void;

const list = (contract: Json) => contract.paths['/websites'].get;
const create = (contract: Json) => contract.paths['/websites'].post;
const update = (contract: Json) => contract.paths['/websites/{id}'].patch;
const parameter = (contract: Json, name: string) => list(contract).parameters.find((each: Json) => each.name === name);
const record = (contract: Json) => contract.components.schemas.Website;
const form = (contract: Json) => contract.components.schemas.WebsiteCreate;
const without = (all: Json[], one: Json) => all.filter((each) => each !== one);
const team = (extra: object) => ({ name: 'team', in: 'query', schema: { type: 'string' }, ...extra });

function plant(contract: Document, change: Plant): Document {
  const copy = structuredClone(contract);
  change(copy);
  return copy;
}

function levelOf(contract: Document, change: Plant): string {
  const found = contractChanges(contract, plant(contract, change)).map(({ level }) => levels.indexOf(level));
  return levels[Math.max(0, ...found)] ?? '';
}

const breaking: Record<string, Plant> = {
  'a removed operation': (c) => delete c.paths['/websites/{id}'].delete,
  'a removed path': (c) => delete c.paths['/domains/{domain}'],
  'a changed path': (c) => {
    c.paths['/sites'] = c.paths['/websites'];
    delete c.paths['/websites'];
  },
  'a changed base path': (c) => (c.servers[0].url = 'http://127.0.0.1:3000/api/v2'),
  'a renamed operation': (c) => (list(c).operationId = 'getWebsites'),
  'another tag': (c) => (list(c).tags = ['Sites']),
  'a renamed schema': (c) => {
    Object.assign(c, JSON.parse(JSON.stringify(c).replaceAll('schemas/PasswordVerdict"', 'schemas/Verdict"')));
    c.components.schemas.Verdict = c.components.schemas.PasswordVerdict;
    delete c.components.schemas.PasswordVerdict;
  },
  'a removed field in an answer': (c) => {
    delete record(c).properties.favorite;
    record(c).required = without(record(c).required, 'favorite');
  },
  'no links in a list any more': (c) => delete c.components.schemas.WebsitePage.properties.links,
  'a removed field that is named like a text': (c) => delete c.components.schemas.Problem.properties.title,
  'a field that an answer may lack now': (c) => (record(c).required = without(record(c).required, 'favorite')),
  'a field that may be null in an answer now': (c) => (record(c).properties.domain.nullable = true),
  'another type in an answer': (c) => (record(c).properties.id.type = 'string'),
  'a wider type in an answer': (c) => (record(c).properties.id.type = 'number'),
  'another format in an answer': (c) => (record(c).properties.created_at.format = 'date'),
  'no format in an answer any more': (c) => delete record(c).properties.created_at.format,
  'a new value in an answer': (c) => record(c).properties.privacy.enum.push(3),
  'a new required field in a request': (c) => {
    form(c).properties.team = { type: 'string' };
    form(c).required.push('team');
  },
  'an optional field that a request must hold now': (c) => form(c).required.push('privacy'),
  'a removed field in a request': (c) => delete form(c).properties.email,
  'a value that a request may not hold any more': (c) => form(c).properties.privacy.enum.pop(),
  'another type in a request': (c) => (form(c).properties.email.type = 'boolean'),
  'a lower maxLength in a request': (c) => (form(c).properties.domain.maxLength = 10),
  'another pattern in a request': (c) => (form(c).properties.password.pattern = '^a'),
  'another default in a request': (c) => (form(c).properties.exclude_bots.default = 0),
  'a request that needs a body now': (c) => (update(c).requestBody.required = true),
  'another media type of requests': (c) => {
    const { content } = create(c).requestBody;
    create(c).requestBody.content = { 'application/json': content['application/x-www-form-urlencoded'] };
  },
  'another media type of answers': (c) => {
    const answer = list(c).responses['200'];
    answer.content = { 'text/csv': answer.content['application/json'] };
  },
  'a new required parameter': (c) => list(c).parameters.push(team({ required: true })),
  'a new required header': (c) => list(c).parameters.push(team({ required: true, in: 'header' })),
  'a new required header for a whole path': (c) => (c.paths['/websites'].parameters = [team({ required: true, in: 'header' })]),
  'a parameter that is required now': (c) => (parameter(c, 'sort').required = true),
  'a removed parameter': (c) => (list(c).parameters = without(list(c).parameters, parameter(c, 'sort'))),
  'a value that a parameter may not hold any more': (c) => parameter(c, 'per_page').schema.enum.pop(),
  'another default of a parameter': (c) => (parameter(c, 'per_page').schema.default = 25),
  'a removed success status': (c) => delete create(c).responses['201'],
  'a removed error status': (c) => delete create(c).responses['409'],
  'a removed header of an answer': (c) => delete create(c).responses['201'].headers.Location,
  'a header that an answer may lack now': (c) => (c.components.headers.Location.required = false),
  'another type of a header': (c) => (c.components.headers['X-RateLimit-Limit'].schema.type = 'string'),
  'one more scope that is needed': (c) => list(c)['x-required-scopes'].push('websites:write'),
  'one way less to sign in': (c) => c.security.pop(),
  'no sign-in without any more': (c) => (list(c).security = [{ sessionCookie: [] }]),
  'another cookie': (c) => (c.components.securitySchemes.sessionCookie.name = 'session'),
};

const additions: Record<string, Plant> = {
  'a new operation': (c) => (c.paths['/teams'] = { get: { operationId: 'listTeams', responses: { 200: { description: 'Teams.' } } } }),
  'a new optional parameter': (c) => list(c).parameters.push(team({ required: false })),
  'a new optional field in a request': (c) => (form(c).properties.team = { type: 'string' }),
  'a new field in an answer': (c) => {
    record(c).properties.team = { type: 'string' };
    record(c).required.push('team');
  },
  'a new value that a request may hold': (c) => form(c).properties.privacy.enum.push(3),
  'a new value that a parameter may hold': (c) => parameter(c, 'per_page').schema.enum.push(200),
  'a higher maxLength in a request': (c) => (form(c).properties.domain.maxLength = 5000),
  'a field that a request may leave out now': (c) => delete form(c).required,
  'a new error status': (c) => (list(c).responses['402'] = { description: 'Pay first.' }),
  'a new header of an answer': (c) => (list(c).responses['200'].headers['X-New'] = { schema: { type: 'string' } }),
  'one more media type of requests': (c) => (create(c).requestBody.content['application/json'] = { schema: { type: 'object' } }),
  'one scope less that is needed': (c) => (list(c)['x-required-scopes'] = []),
  'one way more to sign in': (c) => {
    c.components.securitySchemes.oauth = { type: 'http', scheme: 'basic' };
    c.security.push({ oauth: [] });
  },
  'a new link': (c) => (create(c).responses['201'].links.listWebsites = { operationId: 'listWebsites' }),
  'a deprecated operation': (c) => (list(c).deprecated = true),
};

const words: Record<string, Plant> = {
  'another description of an operation': (c) => (list(c).description = 'Other words.'),
  'another description of a field': (c) => (record(c).properties.domain.description = 'Other words.'),
  'another description of a header': (c) => (c.components.headers.ETag.description = 'Other words.'),
  'another example': (c) => delete list(c).responses['200'].content['application/json'].examples.none,
  'another title': (c) => (c.info.title = 'Other words'),
  'another host': (c) => (c.servers[0].url = 'https://sitekeeper.example.com/api/v1'),
};

describe('needs a new major version', () => {
  test.each(Object.entries(breaking))('%s', (_, change) => {
    expect(levelOf(websites, change)).toBe('major');
  });
  test('a kind of provider that is not taken any more, or a new one that comes back', () => {
    expect(levelOf(monitoring, (c) => c.components.schemas.ProviderCreate.oneOf.pop())).toBe('major');
    expect(levelOf(monitoring, (c) => c.components.schemas.Provider.oneOf.push({ type: 'object' }))).toBe('major');
  });
});

describe('needs a new minor version', () => {
  test.each(Object.entries(additions))('%s', (_, change) => {
    expect(levelOf(websites, change)).toBe('minor');
  });
});

describe('needs a new patch version', () => {
  test.each(Object.entries(words))('%s', (_, change) => {
    expect(levelOf(websites, change)).toBe('patch');
  });
});

describe('the version says what changed', () => {
  const changelog = '# Changelog\n\n## 2.0.0\n\n## 1.1.0 (2027-01-01)\n\n## 1.0.1\n\n## 1.0.0\n\n## 0.9.0\n';
  const at = (version: string, change: Plant = () => {}) =>
    // The smaller one twice, for speed.
    [websites, websites].map((contract) =>
      plant(contract, (c) => {
        change(c);
        c.info.version = version;
      }),
    );
  const released = at('1.0.0');
  const addition: Plant = (c) => (c.paths['/teams'] = { get: { operationId: 'listTeams', responses: { 200: { description: 'Teams.' } } } });
  const removal: Plant = (c) => delete c.paths[Object.keys(c.paths)[0] ?? ''];

  test.each([
    ['nothing changed', '1.0.0', undefined],
    ['an addition in a minor version', '1.1.0', addition],
    ['a removal in a major version', '2.0.0', removal],
  ])('no objection: %s', (_, version, change) => {
    expect(objections(released, at(version, change), changelog)).toEqual([]);
  });

  test.each([
    ['an addition without a new version', '1.0.0', addition, 'needs a new minor version, not 1.0.0'],
    ['an addition in a patch version', '1.0.1', addition, 'needs a new minor version, not 1.0.1'],
    ['a removal in a minor version', '1.1.0', removal, 'needs a new major version, not 1.1.0'],
    ['other words without a new version', '1.0.0', (c: Json) => (c.info.title = 'Other words'), 'needs a new patch version'],
    ['an unused component without a new version', '1.0.0', (c: Json) => (c.components.schemas.Unused = {}), 'needs a new patch version'],
    ['a version that went back', '0.9.0', undefined, 'from 1.0.0 back to 0.9.0'],
    ['a version that the changelog does not name', '1.2.0', addition, 'openapi/CHANGELOG.md has no heading for 1.2.0'],
  ])('an objection: %s', (_, version, change, objection) => {
    expect(objections(released, at(version, change), changelog)).toEqual([expect.stringContaining(objection)]);
  });

  test('the objection names the place', () => {
    const [objection] = objections(released, at('1.0.0', removal), changelog);
    expect(objection).toContain('remove paths / /websites / get');
  });

  test('two APIs with two versions are refused', () => {
    const [first, second] = [at('1.0.0')[0], at('1.1.0')[1]] as [Document, Document];
    expect(objections(released, [first, second], changelog)[0]).toBe('The two APIs must have the same info.version.');
  });

  test('before the first release only the changelog counts', () => {
    expect(objections([], at('1.0.0'), changelog)).toEqual([]);
    expect(objections([], at('1.0.0'), '')).toHaveLength(1);
  });
});

test.each([
  ['websites', websites],
  ['monitoring', monitoring],
])('openapi/CHANGELOG.md has a heading for the version of %s', (_, { info }) => {
  expect(isNamed(String(info.version), readFileSync(join(root, 'openapi/CHANGELOG.md'), 'utf8'))).toBe(true);
});
