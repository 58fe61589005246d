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

// biome-ignore lint/suspicious/noExplicitAny: the edits change arbitrary parts of a contract
type Json = any;
type Edit = (contract: Json) => void;

const list = (contract: Json) => contract.paths['/websites'].get;
const create = (contract: Json) => contract.paths['/websites'].post;
const update = (contract: Json) => contract.paths['/websites/{id}'].patch;
const parameter = (contract: Json, name: string) => list(contract).parameters.find((each: Json) => each.name === name);
const record = (contract: Json) => contract.components.schemas.Website;
const form = (contract: Json) => contract.components.schemas.WebsiteCreate;
const eventsOf = (contract: Json) => contract.components.schemas.Delivery.properties.event['x-extensible-enum'];
const without = (all: Json[], one: Json) => all.filter((each) => each !== one);
const team = (extra: object) => ({ name: 'team', in: 'query', schema: { type: 'string' }, ...extra });

function edited(contract: Document, edit: Edit): Document {
  const copy = structuredClone(contract);
  edit(copy);
  return copy;
}

function levelOf(contract: Document, edit: Edit): string {
  const found = contractChanges(contract, edited(contract, edit)).map(({ level }) => levels.indexOf(level));
  return levels[Math.max(0, ...found)] ?? '';
}

const breaking: Record<string, Edit> = {
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
  'a removed response field': (c) => {
    delete record(c).properties.favorite;
    record(c).required = without(record(c).required, 'favorite');
  },
  'removed links of a list': (c) => delete c.components.schemas.WebsitePage.properties.links,
  'a removed field with the name of a text keyword (title)': (c) => delete c.components.schemas.Problem.properties.title,
  'a response field that is no longer required': (c) => (record(c).required = without(record(c).required, 'favorite')),
  'a response field that becomes nullable': (c) => (record(c).properties.domain.nullable = true),
  'another type of a response field': (c) => (record(c).properties.id.type = 'string'),
  'a wider type of a response field': (c) => (record(c).properties.id.type = 'number'),
  'another format of a response field': (c) => (record(c).properties.created_at.format = 'date'),
  'a removed format of a response field': (c) => delete record(c).properties.created_at.format,
  'a new enum value of a response field': (c) => record(c).properties.privacy.enum.push(3),
  'a new required request field': (c) => {
    form(c).properties.team = { type: 'string' };
    form(c).required.push('team');
  },
  'an optional request field that becomes required': (c) => form(c).required.push('privacy'),
  'a removed request field': (c) => delete form(c).properties.email,
  'a removed enum value of a request field': (c) => form(c).properties.privacy.enum.pop(),
  'another type of a request field': (c) => (form(c).properties.email.type = 'boolean'),
  'a lower maxLength of a request field': (c) => (form(c).properties.domain.maxLength = 10),
  'another pattern of a request field': (c) => (form(c).properties.password.pattern = '^a'),
  'another default of a request field': (c) => (form(c).properties.exclude_bots.default = 0),
  'a request body that becomes required': (c) => (update(c).requestBody.required = true),
  'another media type of a request': (c) => {
    const { content } = create(c).requestBody;
    create(c).requestBody.content = { 'application/json': content['application/x-www-form-urlencoded'] };
  },
  'another media type of a response': (c) => {
    const response = list(c).responses['200'];
    response.content = { 'text/csv': response.content['application/json'] };
  },
  'a new required parameter': (c) => list(c).parameters.push(team({ required: true })),
  'a new required header': (c) => list(c).parameters.push(team({ required: true, in: 'header' })),
  'a new required header for a whole path': (c) => (c.paths['/websites'].parameters = [team({ required: true, in: 'header' })]),
  'a parameter that becomes required': (c) => (parameter(c, 'sort').required = true),
  'a removed parameter': (c) => (list(c).parameters = without(list(c).parameters, parameter(c, 'sort'))),
  'a removed enum value of a parameter': (c) => parameter(c, 'per_page').schema.enum.pop(),
  'another default of a parameter': (c) => (parameter(c, 'per_page').schema.default = 25),
  'a removed success status': (c) => delete create(c).responses['201'],
  'a removed error status': (c) => delete create(c).responses['409'],
  'a removed response header': (c) => delete create(c).responses['201'].headers.Location,
  'a response header that is no longer required': (c) => (c.components.headers.Location.required = false),
  'another type of a response header': (c) => (c.components.headers['X-RateLimit-Limit'].schema.type = 'string'),
  'an additional required scope': (c) => list(c)['x-required-scopes'].push('websites:write'),
  'a removed security scheme': (c) => c.security.pop(),
  'an operation that no longer accepts API keys': (c) => (list(c).security = [{ sessionCookie: [] }]),
  'another name of the session cookie': (c) => (c.components.securitySchemes.sessionCookie.name = 'session'),
};

const additions: Record<string, Edit> = {
  'a new operation': (c) => (c.paths['/teams'] = { get: { operationId: 'listTeams', responses: { 200: { description: 'Teams.' } } } }),
  'a new optional parameter': (c) => list(c).parameters.push(team({ required: false })),
  'a new optional request field': (c) => (form(c).properties.team = { type: 'string' }),
  'a new response field': (c) => {
    record(c).properties.team = { type: 'string' };
    record(c).required.push('team');
  },
  'a new enum value of a request field': (c) => form(c).properties.privacy.enum.push(3),
  'a new enum value of a parameter': (c) => parameter(c, 'per_page').schema.enum.push(200),
  'a higher maxLength of a request field': (c) => (form(c).properties.domain.maxLength = 5000),
  'a request field that is no longer required': (c) => delete form(c).required,
  'a new error status': (c) => (list(c).responses['402'] = { description: 'Payment required.' }),
  'a new response header': (c) => (list(c).responses['200'].headers['X-New'] = { schema: { type: 'string' } }),
  'an additional media type of a request': (c) => (create(c).requestBody.content['application/json'] = { schema: { type: 'object' } }),
  'a removed required scope': (c) => (list(c)['x-required-scopes'] = []),
  'an additional security scheme': (c) => {
    c.components.securitySchemes.oauth = { type: 'http', scheme: 'basic' };
    c.security.push({ oauth: [] });
  },
  'a new link': (c) => (create(c).responses['201'].links.listWebsites = { operationId: 'listWebsites' }),
  'a deprecated operation': (c) => (list(c).deprecated = true),
};

const texts: Record<string, Edit> = {
  'another description of an operation': (c) => (list(c).description = 'Another text.'),
  'another description of a field': (c) => (record(c).properties.domain.description = 'Another text.'),
  'another description of a header': (c) => (c.components.headers.ETag.description = 'Another text.'),
  'another example': (c) => delete list(c).responses['200'].content['application/json'].examples.none,
  'another title': (c) => (c.info.title = 'Another text'),
  'another x-pattern-message': (c) => (form(c).properties.password['x-pattern-message'] = 'must be another text'),
  'other immutable properties': (c) => (c.components.schemas.WebsiteUpdate['x-immutable-properties'] = []),
  'another host': (c) => (c.servers[0].url = 'https://sitekeeper.example.com/api/v1'),
};

describe('requires a new major version for', () => {
  test.each(Object.entries(breaking))('%s', (_, edit) => {
    expect(levelOf(websites, edit)).toBe('major');
  });
  test('a removed provider type in a request and a new one in a response', () => {
    expect(levelOf(monitoring, (c) => c.components.schemas.ProviderCreate.oneOf.pop())).toBe('major');
    expect(levelOf(monitoring, (c) => c.components.schemas.Provider.oneOf.push({ type: 'object' }))).toBe('major');
  });
  test('a removed value of an extensible enum', () => {
    expect(levelOf(monitoring, (c) => eventsOf(c).pop())).toBe('major');
  });
});

describe('requires a new minor version for', () => {
  test.each(Object.entries(additions))('%s', (_, edit) => {
    expect(levelOf(websites, edit)).toBe('minor');
  });
  test('a new value of an extensible enum', () => {
    expect(levelOf(monitoring, (c) => eventsOf(c).push('monitor.slow'))).toBe('minor');
  });
});

describe('requires a new patch version for', () => {
  test.each(Object.entries(texts))('%s', (_, edit) => {
    expect(levelOf(websites, edit)).toBe('patch');
  });
});

describe('the version number', () => {
  const changelog = '# Changelog\n\n## 2.0.0\n\n## 1.1.0 (2027-01-01)\n\n## 1.0.1\n\n## 1.0.0\n\n## 0.9.0\n';
  const at = (version: string, edit: Edit = () => {}) =>
    // The smaller contract is used for both APIs, because it is faster to compare.
    [websites, websites].map((contract) =>
      edited(contract, (c) => {
        edit(c);
        c.info.version = version;
      }),
    );
  const released = at('1.0.0');
  const addition: Edit = (c) => (c.paths['/teams'] = { get: { operationId: 'listTeams', responses: { 200: { description: 'Teams.' } } } });
  const removal: Edit = (c) => delete c.paths[Object.keys(c.paths)[0] ?? ''];

  test.each([
    ['no change', '1.0.0', undefined],
    ['an addition in a minor version', '1.1.0', addition],
    ['a removal in a major version', '2.0.0', removal],
  ])('is accepted: %s', (_, version, edit) => {
    expect(objections(released, at(version, edit), changelog)).toEqual([]);
  });

  test.each([
    ['an addition without a new version', '1.0.0', addition, 'needs a new minor version, not 1.0.0'],
    ['an addition in a patch version', '1.0.1', addition, 'needs a new minor version, not 1.0.1'],
    ['a removal in a minor version', '1.1.0', removal, 'needs a new major version, not 1.1.0'],
    ['another text without a new version', '1.0.0', (c: Json) => (c.info.title = 'Another text'), 'needs a new patch version'],
    ['an unused component without a new version', '1.0.0', (c: Json) => (c.components.schemas.Unused = {}), 'needs a new patch version'],
    ['a lower version', '0.9.0', undefined, 'from 1.0.0 back to 0.9.0'],
    ['a version without a heading in the changelog', '1.2.0', addition, 'openapi/CHANGELOG.md has no heading for 1.2.0'],
  ])('is rejected: %s', (_, version, edit, objection) => {
    expect(objections(released, at(version, edit), changelog)).toEqual([expect.stringContaining(objection)]);
  });

  test('is rejected with the location of the change', () => {
    const [objection] = objections(released, at('1.0.0', removal), changelog);
    expect(objection).toContain('remove paths / /websites / get');
  });

  test('is rejected if the two APIs have different versions', () => {
    const [first, second] = [at('1.0.0')[0], at('1.1.0')[1]] as [Document, Document];
    expect(objections(released, [first, second], changelog)[0]).toBe('The two APIs must have the same info.version.');
  });

  test('needs only a heading in the changelog before the first release', () => {
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
