// That the specs as they are have no finding is npm run lint:spec itself.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

interface Outcome {
  code: number;
  report: string;
}

interface Fault {
  title: string;
  file: string;
  /** The text to change, which stands in the file; the first place counts. */
  find: string;
  put: string;
  rule: string;
  /** The place that the finding names; none if it is the whole spec. */
  at?: string;
}

const root = resolve(import.meta.dirname, '../..');
const timeout = 60_000;
// Redocly numbers its findings, "[1] file:line:column". Spectral and the search for merge keys write one a line.
const startOfFinding = /^(?=\[\d+\] )|^(?= *\d+:\d+ )|^(?=openapi\/\S+:\d+ )/m;

// Each fault is planted in a part that the others leave alone, so that one run shows them all.
const faults: Fault[] = [
  {
    title: 'an operationId that is not in camelCase',
    file: 'websites/paths/domain.yaml',
    find: 'operationId: showWebsiteByDomain',
    put: 'operationId: show_website_by_domain',
    rule: 'sitekeeper-operation-id',
    at: 'paths./domains/{domain}.get.operationId',
  },
  {
    title: 'an operation without an operationId',
    file: 'monitoring/paths/keys.yaml',
    find: '  operationId: listKeys\n',
    put: '',
    rule: 'sitekeeper-operation-id',
    at: 'paths./keys.get',
  },
  {
    title: 'an operation without a summary',
    file: 'monitoring/paths/keys.yaml',
    find: '  summary: List keys\n',
    put: '',
    rule: 'sitekeeper-operation-text',
    at: 'paths./keys.get',
  },
  {
    title: 'a description that says too little',
    file: 'websites/paths/website.yaml',
    find: 'description: One website with its settings. Send the `ETag` you have as `If-None-Match` to get 304 while nothing changed.',
    put: 'description: One website.',
    rule: 'sitekeeper-operation-text',
    at: 'paths./websites/{id}.get.description',
  },
  {
    title: 'an operation without a tag',
    file: 'monitoring/paths/incidents.yaml',
    find: 'tags: [Incidents]',
    put: 'tags: []',
    rule: 'sitekeeper-operation-tags',
    at: 'paths./monitors/{id}/incidents.get.tags',
  },
  {
    title: 'a scope that does not exist',
    file: 'monitoring/paths/check.yaml',
    find: "x-required-scopes: ['monitors:write']",
    put: "x-required-scopes: ['monitors:admin']",
    rule: 'sitekeeper-required-scopes',
    at: 'paths./monitors/{id}/check.post.x-required-scopes[0]',
  },
  {
    title: 'an operation that does not name its scopes',
    file: 'monitoring/paths/key.yaml',
    find: '  x-required-scopes: []\n',
    put: '',
    rule: 'sitekeeper-required-scopes',
    at: 'paths./keys/{id}.delete',
  },
  {
    title: 'an operation that goes without a key or session',
    file: 'monitoring/paths/provider.yaml',
    find: "  x-required-scopes: ['providers:read']\n",
    put: "  x-required-scopes: ['providers:read']\n  security: []\n",
    rule: 'sitekeeper-open-operations',
    at: 'paths./providers/{id}.get.security',
  },
  {
    title: 'a spec that asks for no key by default',
    file: 'websites/openapi.yaml',
    find: 'security:\n  - bearerKey: []\n  - sessionCookie: []\n',
    put: '',
    rule: 'sitekeeper-global-security',
  },
  {
    title: 'a parameter without an example',
    file: 'websites/paths/websites.yaml',
    find: '      example: domain\n',
    put: '',
    rule: 'sitekeeper-parameter-text',
    at: 'paths./websites.get.parameters[1]',
  },
  {
    title: 'a parameter without a description',
    file: 'monitoring/parameters.yaml',
    find: '  description: The id of the key, as returned by the list and by its creation.\n',
    put: '',
    rule: 'sitekeeper-parameter-text',
    at: 'components.parameters.KeyId',
  },
  {
    title: 'a string parameter of any length',
    file: 'websites/paths/websites.yaml',
    find: 'type: string, maxLength: 253',
    put: 'type: string',
    rule: 'sitekeeper-parameter-bounds',
    at: 'paths./websites.get.parameters[0].schema.type',
  },
  {
    title: 'an integer parameter without a maximum',
    file: 'monitoring/parameters.yaml',
    find: 'maximum: 100, default: 100',
    put: 'default: 100',
    rule: 'sitekeeper-parameter-bounds',
    at: 'components.parameters.PageSize100.schema.type',
  },
  {
    title: 'a string parameter of any characters',
    file: 'websites/paths/domain.yaml',
    find: "maxLength: 2048, pattern: '^[^\\u0000]+$'",
    put: 'maxLength: 2048',
    rule: 'sitekeeper-parameter-strings',
    at: 'paths./domains/{domain}.get.parameters[0].schema',
  },
  {
    title: 'a secret as a parameter',
    file: 'monitoring/paths/notifications.yaml',
    find: '- name: provider_id',
    put: '- name: access_token',
    rule: 'sitekeeper-no-secret-in-parameter',
    at: 'paths./monitors/{id}/notifications.delete.parameters[0].name',
  },
  {
    title: 'a request body without a named example',
    file: 'monitoring/paths/notifications.yaml',
    find: '        examples:\n          remove:\n            summary: Take this provider off\n            value: { provider_id: 3 }\n',
    put: '',
    rule: 'sitekeeper-request-examples',
    at: 'paths./monitors/{id}/notifications.delete.requestBody.content.application/json',
  },
  {
    title: 'fewer examples than branches',
    file: 'monitoring/paths/providers.yaml',
    find: "          sms:\n            summary: Text messages to a telephone\n            value: { provider_type: sms, phone_number: '+12025550123' }\n",
    put: '',
    rule: 'sitekeeper-request-examples',
    at: 'paths./providers.post.requestBody.content.application/json',
  },
  {
    title: 'a request body that takes unknown fields',
    file: 'monitoring/schemas/monitors.yaml',
    find: '  additionalProperties: false\n  description: A new monitor.',
    put: '  description: A new monitor.',
    rule: 'sitekeeper-request-closed',
    at: 'components.schemas.MonitorCreate',
  },
  {
    title: 'a branch of a request body that takes unknown fields',
    file: 'monitoring/schemas/providers.yaml',
    find: '  additionalProperties: false\n  description: A new provider that sends e-mail.',
    put: '  description: A new provider that sends e-mail.',
    rule: 'sitekeeper-request-closed',
    at: 'components.schemas.EmailProviderCreate',
  },
  {
    title: 'a string of any characters in a request body',
    file: 'monitoring/schemas/keys.yaml',
    find: "      pattern: '^[^\\u0000-\\u001f\\u007f]*$'\n",
    put: '',
    rule: 'sitekeeper-request-strings',
    at: 'components.schemas.KeyCreate.properties.name',
  },
  {
    title: 'a default in an update',
    file: 'websites/schemas/website.yaml',
    find: 'favorite: { type: boolean, description: "Mark',
    put: 'favorite: { type: boolean, default: false, description: "Mark',
    rule: 'sitekeeper-update-without-defaults',
    at: 'components.schemas.WebsiteUpdate.properties.favorite',
  },
  {
    title: 'an integer without a maximum in an answer',
    file: 'monitoring/schemas/page.yaml',
    find: 'maximum: 100, ',
    put: '',
    rule: 'sitekeeper-integer-bounds',
    at: 'components.schemas.PageMeta.properties.pageSize',
  },
  {
    title: 'an operation that never succeeds',
    file: 'monitoring/paths/test.yaml',
    find: "    '200':",
    put: "    '302':",
    rule: 'sitekeeper-success-response',
    at: 'paths./providers/{id}/test.post.responses',
  },
  {
    title: 'a response for all other statuses',
    file: 'monitoring/paths/incidents.yaml',
    find: "    '404':",
    put: '    default:',
    rule: 'sitekeeper-success-response',
    at: 'paths./monitors/{id}/incidents.get.responses',
  },
  {
    title: 'a body without a 415',
    file: 'monitoring/paths/users.yaml',
    find: "    '415': { $ref: ../../shared/responses.yaml#/UnsupportedMediaType }\n",
    put: '',
    rule: 'sitekeeper-declared-statuses',
    at: 'paths./users.post.responses',
  },
  {
    title: 'a session needed without a 401',
    file: 'monitoring/paths/session.yaml',
    find: "    '401': { $ref: ../../shared/responses.yaml#/SessionRequired }\n",
    put: '',
    rule: 'sitekeeper-declared-statuses',
    at: 'paths./session.get.responses',
  },
  {
    title: 'a response without a rate limit header',
    file: 'monitoring/paths/password.yaml',
    find: '        RateLimit: { $ref: ../../shared/headers.yaml#/RateLimit }\n',
    put: '',
    rule: 'sitekeeper-response-headers',
    at: 'paths./session/password.put.responses[200].headers',
  },
  {
    title: 'a 401 without WWW-Authenticate',
    file: 'shared/responses.yaml',
    find: 'An API key does not serve here.\n  headers: *headersOf401',
    put: 'An API key does not serve here.\n  headers: *headers',
    rule: 'sitekeeper-www-authenticate',
    at: 'components.responses.SessionRequired.headers',
  },
  {
    title: 'a 429 without Retry-After',
    file: 'shared/responses.yaml',
    find: '    Retry-After: { $ref: headers.yaml#/Retry-After }\n',
    put: '',
    rule: 'sitekeeper-retry-after',
    at: 'components.responses.RateLimited.headers',
  },
  {
    title: 'a 201 without Location',
    file: 'monitoring/paths/monitors.yaml',
    find: '        Location: { $ref: ../headers.yaml#/MonitorLocation }\n',
    put: '',
    rule: 'sitekeeper-created-location',
    at: 'paths./monitors.post.responses[201]',
  },
  {
    title: 'an answer without an example',
    file: 'websites/paths/website.yaml',
    find: '          examples:\n            deleted:\n              value: { id: 7, object: website, deleted: true }\n',
    put: '',
    rule: 'sitekeeper-response-examples',
    at: 'paths./websites/{id}.delete.responses[200].content.application/json',
  },
  {
    title: 'an error that is plain JSON',
    file: 'shared/responses.yaml',
    find: 'the two answers do not differ.\n  headers: *headers\n  content:\n    application/problem+json:',
    put: 'the two answers do not differ.\n  headers: *headers\n  content:\n    application/json:',
    rule: 'sitekeeper-problem-media-type',
    at: 'components.responses.NotFound.content',
  },
  {
    title: 'an error with a schema of its own',
    file: 'monitoring/paths/check.yaml',
    find: '../../shared/schemas.yaml#/Problem',
    put: '../../shared/schemas.yaml#/Fault',
    rule: 'sitekeeper-problem-schema',
    at: 'paths./monitors/{id}/check.post.responses[409].content.application/problem+json.schema.$ref',
  },
  {
    title: 'a shared error with a schema of its own',
    file: 'shared/responses.yaml',
    find: 'schemas.yaml#/Problem',
    put: 'schemas.yaml#/Fault',
    rule: 'sitekeeper-problem-schema',
    at: 'components.responses.MalformedQuery.content.application/problem+json.schema.$ref',
  },
  {
    title: 'an example with the status of another error',
    file: 'shared/responses.yaml',
    find: 'status: 500',
    put: 'status: 501',
    rule: 'sitekeeper-problem-example',
    at: 'components.responses.InternalError.content',
  },
  {
    title: 'an example whose type leads to another code',
    file: 'monitoring/paths/key.yaml',
    find: 'code: not_your_key',
    put: 'code: other_key',
    rule: 'sitekeeper-problem-example',
    at: 'paths./keys/{id}.delete.responses[403].content.application/problem+json.examples.not_your_key.value.type',
  },
  {
    title: 'a reference that leads nowhere',
    file: 'websites/paths/domain.yaml',
    find: 'ETag: { $ref: ../../shared/headers.yaml#/ETag }',
    put: 'ETag: { $ref: ../../shared/headers.yaml#/Version }',
    rule: 'sitekeeper-all-resolved',
    at: 'paths./domains/{domain}.get.responses[200].headers.ETag',
  },
  {
    title: 'a merge key',
    file: 'monitoring/paths/users.yaml',
    find: 'headers: *headers',
    put: 'headers:\n        <<: *headers',
    rule: 'sitekeeper-no-merge-keys',
    at: 'openapi/monitoring/paths/users.yaml:41',
  },
  {
    title: 'a string without a length (a rule of OWASP)',
    file: 'shared/schemas.yaml',
    find: 'detail: { type: string, maxLength: 4000, ',
    put: 'detail: { type: string, ',
    rule: 'owasp:api4:2023-string-limit',
    at: 'components.schemas.Problem.properties.detail',
  },
  {
    title: 'two tags (a rule of Spectral)',
    file: 'websites/paths/verify-password.yaml',
    find: 'tags: [Lookups]',
    put: 'tags: [Lookups, Websites]',
    rule: 'operation-singular-tag',
    at: 'paths./websites/{id}/verify-password.post.tags',
  },
  {
    title: 'a request that breaks its schema (a rule of Redocly)',
    file: 'monitoring/paths/users.yaml',
    find: 'value: { email: ana@example.com,',
    put: 'value: { email: ana,',
    rule: 'no-invalid-media-type-examples',
    at: '#/post/requestBody/content/application~1json/examples/sign_up/value/email',
  },
  {
    title: 'a parameter that breaks its schema (a rule of Redocly)',
    file: 'monitoring/parameters.yaml',
    find: 'example: 3\n',
    put: 'example: three\n',
    rule: 'no-invalid-parameter-examples',
    at: '#/ProviderId/example',
  },
  {
    title: 'a tag without a description (a rule of Redocly)',
    file: 'websites/openapi.yaml',
    find: '    description: What trackers and dashboards ask while visitors are waiting.\n',
    put: '',
    rule: 'tag-description',
    at: '#/tags/1/description',
  },
];

let folder: string;
let spoilt: Promise<Outcome>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-spoilt-'));
  for (const name of ['openapi', 'package.json', 'redocly.yaml', '.spectral.yaml']) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { title, file, find, put } of faults) {
    const path = join(folder, 'openapi', file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(find)) throw new Error(`There is no place in ${file} to plant ${title}.`);
    writeFileSync(
      path,
      text.replace(find, () => put),
    );
  }
  spoilt = lint(folder);
});

afterAll(async () => {
  await spoilt;
  rmSync(folder, { recursive: true });
});

function lint(where: string): Promise<Outcome> {
  return new Promise((done) => {
    const child = execFile(process.execPath, [join(where, 'openapi/tools/lint.ts')], (_, stdout, stderr) => {
      done({ code: child.exitCode ?? -1, report: stripVTControlCharacters(stdout + stderr) });
    });
  });
}

test.for(faults)('the linter finds $title', { timeout }, async ({ rule, at }) => {
  const { code, report } = await spoilt;
  const findings = report.split(startOfFinding).map((finding) => finding.split(/\s+/));
  const named = findings.filter((words) => words.includes(rule));
  expect(code).toBe(1);
  expect(named).not.toEqual([]);
  if (at) expect(named.flat()).toContain(at);
});

test('each rule of our own has a fault that it finds', () => {
  const own = readFileSync(join(root, '.spectral.yaml'), 'utf8').match(/^ {2}sitekeeper-[a-z-]+(?=:$)/gm) ?? [];
  const proven = new Set(faults.map(({ rule }) => rule));
  expect(own.map((rule) => rule.trim()).filter((rule) => !proven.has(rule))).toEqual([]);
});
