// Injects an error for each lint rule into a copy of the specs. `npm run lint:spec` itself checks that the real specs have no
// findings.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

interface LintResult {
  code: number;
  report: string;
}

interface InjectedError {
  title: string;
  file: string;
  /** The text to replace. Only the first occurrence in the file is replaced. */
  find: string;
  replacement: string;
  rule: string;
  /** The location that the finding reports. It is absent if the finding is about the whole spec. */
  at?: string;
}

const root = join(import.meta.dirname, '../..');
/** The first test waits for the whole run of the linters. */
const timeout = 180_000;
// Redocly numbers its findings: "[1] file:line:column". The others print one finding per line.
const startOfFinding = /^(?=\[\d+\] )|^(?= *\d+:\d+ )|^(?=openapi\/\S+:\d+ )|^(?=(?:websites|monitoring) paths\.)/m;

// Each error is in a part of the specs that the others do not change, so that a single run finds them all.
const injectedErrors: InjectedError[] = [
  {
    title: 'an operationId that is not in camelCase',
    file: 'websites/paths/domain.yaml',
    find: 'operationId: showWebsiteByDomain',
    replacement: 'operationId: show_website_by_domain',
    rule: 'sitekeeper-operation-id',
    at: 'paths./domains/{domain}.get.operationId',
  },
  {
    title: 'an operation without an operationId',
    file: 'monitoring/paths/keys.yaml',
    find: '  operationId: listKeys\n',
    replacement: '',
    rule: 'sitekeeper-operation-id',
    at: 'paths./keys.get',
  },
  {
    title: 'an operation without a summary',
    file: 'monitoring/paths/keys.yaml',
    find: '  summary: List keys\n',
    replacement: '',
    rule: 'sitekeeper-operation-text',
    at: 'paths./keys.get',
  },
  {
    title: 'a description that is too short',
    file: 'websites/paths/website.yaml',
    find: 'description: Returns the website and its settings. Send its `ETag` in `If-None-Match` to get 304 if it has not changed.',
    replacement: 'description: One website.',
    rule: 'sitekeeper-operation-text',
    at: 'paths./websites/{id}.get.description',
  },
  {
    title: 'an operation without a tag',
    file: 'monitoring/paths/incidents.yaml',
    find: 'tags: [Incidents]',
    replacement: 'tags: []',
    rule: 'sitekeeper-operation-tags',
    at: 'paths./monitors/{id}/incidents.get.tags',
  },
  {
    title: 'a scope that does not exist',
    file: 'monitoring/paths/check.yaml',
    find: "x-required-scopes: ['monitors:write']",
    replacement: "x-required-scopes: ['monitors:admin']",
    rule: 'sitekeeper-required-scopes',
    at: 'paths./monitors/{id}/check.post.x-required-scopes[0]',
  },
  {
    title: 'an operation that does not name its scopes',
    file: 'monitoring/paths/key.yaml',
    find: '  x-required-scopes: []\n',
    replacement: '',
    rule: 'sitekeeper-required-scopes',
    at: 'paths./keys/{id}.delete',
  },
  {
    title: 'an operation that requires neither a key nor a session',
    file: 'monitoring/paths/provider.yaml',
    find: "  x-required-scopes: ['providers:read']\n",
    replacement: "  x-required-scopes: ['providers:read']\n  security: []\n",
    rule: 'sitekeeper-open-operations',
    at: 'paths./providers/{id}.get.security',
  },
  {
    title: 'a spec that requires no credentials by default',
    file: 'websites/openapi.yaml',
    find: 'security:\n  - bearerKey: []\n  - sessionCookie: []\n',
    replacement: '',
    rule: 'sitekeeper-global-security',
  },
  {
    title: 'a parameter without an example',
    file: 'websites/paths/websites.yaml',
    find: '      example: domain\n',
    replacement: '',
    rule: 'sitekeeper-parameter-text',
    at: 'paths./websites.get.parameters[1]',
  },
  {
    title: 'a parameter without a description',
    file: 'monitoring/parameters.yaml',
    find: '  description: The id of the key, as returned when it is created or listed.\n',
    replacement: '',
    rule: 'sitekeeper-parameter-text',
    at: 'components.parameters.KeyId',
  },
  {
    title: 'a string parameter without a maximum length',
    file: 'websites/paths/websites.yaml',
    find: 'type: string, maxLength: 253',
    replacement: 'type: string',
    rule: 'sitekeeper-parameter-bounds',
    at: 'paths./websites.get.parameters[0].schema.type',
  },
  {
    title: 'an integer parameter without a maximum',
    file: 'monitoring/parameters.yaml',
    find: 'maximum: 100, default: 100',
    replacement: 'default: 100',
    rule: 'sitekeeper-parameter-bounds',
    at: 'components.parameters.PageSize100.schema.type',
  },
  {
    title: 'a string parameter without a pattern',
    file: 'websites/paths/domain.yaml',
    find: "maxLength: 2048, pattern: '^[^\\u0000]+$'",
    replacement: 'maxLength: 2048',
    rule: 'sitekeeper-parameter-strings',
    at: 'paths./domains/{domain}.get.parameters[0].schema',
  },
  {
    title: 'a secret in a parameter',
    file: 'monitoring/paths/notifications.yaml',
    find: '- name: provider_id',
    replacement: '- name: access_token',
    rule: 'sitekeeper-no-secret-in-parameter',
    at: 'paths./monitors/{id}/notifications.delete.parameters[0].name',
  },
  {
    title: 'a request body without a named example',
    file: 'monitoring/paths/notifications.yaml',
    find: '        examples:\n          remove:\n            summary: Remove a provider\n            value: { provider_id: 3 }\n',
    replacement: '',
    rule: 'sitekeeper-request-examples',
    at: 'paths./monitors/{id}/notifications.delete.requestBody.content.application/json',
  },
  {
    title: 'fewer request examples than branches',
    file: 'monitoring/paths/providers.yaml',
    find: "          sms:\n            summary: Text messages to a phone\n            value: { provider_type: sms, name: Phone on call, phone_number: '+12025550123' }\n",
    replacement: '',
    rule: 'sitekeeper-request-examples',
    at: 'paths./providers.post.requestBody.content.application/json',
  },
  {
    title: 'a request body that accepts unknown fields',
    file: 'monitoring/schemas/monitors.yaml',
    find: '  additionalProperties: false\n  description: The settings of a new monitor.',
    replacement: '  description: The settings of a new monitor.',
    rule: 'sitekeeper-request-closed',
    at: 'components.schemas.MonitorCreate',
  },
  {
    title: 'a branch of a request body that accepts unknown fields',
    file: 'monitoring/schemas/providers.yaml',
    find: '  additionalProperties: false\n  description: The settings of a new provider that sends e-mail.',
    replacement: '  description: The settings of a new provider that sends e-mail.',
    rule: 'sitekeeper-request-closed',
    at: 'components.schemas.EmailProviderCreate',
  },
  {
    title: 'a string without a pattern in a request body',
    file: 'monitoring/schemas/keys.yaml',
    find: "      pattern: '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$'\n",
    replacement: '',
    rule: 'sitekeeper-request-strings',
    at: 'components.schemas.KeyCreate.properties.name',
  },
  {
    title: 'a pattern without a message',
    file: 'monitoring/schemas/providers.yaml',
    find: '      x-pattern-message: must be a phone number in E.164 format, such as +15005550006\n',
    replacement: '',
    rule: 'sitekeeper-pattern-message',
    at: 'components.schemas.SmsProviderCreate.properties.phone_number',
  },
  {
    title: 'a union without a message',
    file: 'monitoring/schemas/providers.yaml',
    find: '      x-pattern-message: must be a URL, or the masked value that the API returned\n',
    replacement: '',
    rule: 'sitekeeper-pattern-message',
    at: 'components.schemas.ProviderUpdate.properties.webhook_url',
  },
  {
    title: 'a pattern of a parameter whose message does not start with "must"',
    file: 'monitoring/parameters.yaml',
    find: 'x-pattern-message: must contain only printable ASCII characters',
    replacement: 'x-pattern-message: printable ASCII characters',
    rule: 'sitekeeper-pattern-message',
    at: 'components.parameters.MonitorIfMatch.schema',
  },
  {
    title: 'a default in an update',
    file: 'websites/schemas/website.yaml',
    find: "favorite: { type: boolean, description: 'Whether",
    replacement: "favorite: { type: boolean, default: false, description: 'Whether",
    rule: 'sitekeeper-update-without-defaults',
    at: 'components.schemas.WebsiteUpdate.properties.favorite',
  },
  {
    title: 'an integer without a maximum in a response',
    file: 'monitoring/schemas/page.yaml',
    find: 'maximum: 100, ',
    replacement: '',
    rule: 'sitekeeper-integer-bounds',
    at: 'components.schemas.PageMeta.properties.pageSize',
  },
  {
    title: 'an operation without a success response',
    file: 'monitoring/paths/test.yaml',
    find: "    '200':",
    replacement: "    '302':",
    rule: 'sitekeeper-success-response',
    at: 'paths./providers/{id}/test.post.responses',
  },
  {
    title: 'a default response',
    file: 'monitoring/paths/incidents.yaml',
    find: "    '404':",
    replacement: '    default:',
    rule: 'sitekeeper-success-response',
    at: 'paths./monitors/{id}/incidents.get.responses',
  },
  {
    title: 'an operation with a body that declares no 415',
    file: 'monitoring/paths/users.yaml',
    find: "    '415': { $ref: ../../shared/responses.yaml#/UnsupportedMediaType }\n",
    replacement: '',
    rule: 'sitekeeper-declared-statuses',
    at: 'paths./users.post.responses',
  },
  {
    title: 'an operation without a token in its path that declares no 406',
    file: 'monitoring/paths/users.yaml',
    find: "    '406': { $ref: ../../shared/responses.yaml#/NotAcceptable }\n",
    replacement: '',
    rule: 'sitekeeper-declared-statuses',
    at: 'paths./users.post.responses',
  },
  {
    title: 'an operation that requires a session but declares no 401',
    file: 'monitoring/paths/session.yaml',
    find: "    '401': { $ref: ../../shared/responses.yaml#/SessionRequired }\n",
    replacement: '',
    rule: 'sitekeeper-declared-statuses',
    at: 'paths./session.get.responses',
  },
  {
    title: 'a response without a rate limit header',
    file: 'monitoring/paths/password.yaml',
    find: '        RateLimit: { $ref: ../../shared/headers.yaml#/RateLimit }\n',
    replacement: '',
    rule: 'sitekeeper-response-headers',
    at: 'paths./session/password.put.responses[200].headers',
  },
  {
    title: 'a 401 without WWW-Authenticate',
    file: 'shared/responses.yaml',
    find: 'API keys are not accepted.\n  headers: *headersOf401',
    replacement: 'API keys are not accepted.\n  headers: *headers',
    rule: 'sitekeeper-www-authenticate',
    at: 'components.responses.SessionRequired.headers',
  },
  {
    title: 'a 429 without Retry-After',
    file: 'shared/responses.yaml',
    find: '    Retry-After: { $ref: headers.yaml#/Retry-After }\n',
    replacement: '',
    rule: 'sitekeeper-retry-after',
    at: 'components.responses.RateLimited.headers',
  },
  {
    title: 'a 201 without Location',
    file: 'monitoring/paths/monitors.yaml',
    find: '        Location: { $ref: ../headers.yaml#/MonitorLocation }\n',
    replacement: '',
    rule: 'sitekeeper-created-location',
    at: 'paths./monitors.post.responses[201]',
  },
  {
    title: 'a response without an example',
    file: 'websites/paths/website.yaml',
    find: '          examples:\n            deleted:\n              value: { id: 7, object: website, deleted: true }\n',
    replacement: '',
    rule: 'sitekeeper-response-examples',
    at: 'paths./websites/{id}.delete.responses[200].content.application/json',
  },
  {
    title: 'a request example with a date that will pass',
    file: 'monitoring/paths/keys.yaml',
    find: "expires_at: '2099-12-31T23:00:00Z' }",
    replacement: "expires_at: '2035-12-31T23:00:00Z' }",
    rule: 'sitekeeper-request-dates',
    at: 'paths./keys.post.requestBody.content.application/json.examples.deploy_script.value.expires_at',
  },
  {
    title: 'an error response that is plain JSON',
    file: 'shared/responses.yaml',
    find: 'The provider does not exist or belongs to another user. Both cases return the same response.\n  headers: *headers\n  content:\n    application/problem+json:',
    replacement:
      'The provider does not exist or belongs to another user. Both cases return the same response.\n  headers: *headers\n  content:\n    application/json:',
    rule: 'sitekeeper-problem-media-type',
    at: 'components.responses.ProviderNotFound.content',
  },
  {
    title: 'an error response with a custom schema',
    file: 'monitoring/paths/check.yaml',
    find: '../../shared/schemas.yaml#/Problem',
    replacement: '../../shared/schemas.yaml#/Fault',
    rule: 'sitekeeper-problem-schema',
    at: 'paths./monitors/{id}/check.post.responses[409].content.application/problem+json.schema.$ref',
  },
  {
    title: 'a shared error response with a custom schema',
    file: 'shared/responses.yaml',
    find: 'schemas.yaml#/Problem',
    replacement: 'schemas.yaml#/Fault',
    rule: 'sitekeeper-problem-schema',
    at: 'components.responses.MalformedQuery.content.application/problem+json.schema.$ref',
  },
  {
    title: 'an example with the status of another error',
    file: 'shared/responses.yaml',
    find: 'status: 500',
    replacement: 'status: 501',
    rule: 'sitekeeper-problem-example',
    at: 'components.responses.InternalError.content',
  },
  {
    title: 'an example whose type does not match its code',
    file: 'monitoring/paths/key.yaml',
    find: 'code: not_your_key',
    replacement: 'code: other_key',
    rule: 'sitekeeper-problem-example',
    at: 'paths./keys/{id}.delete.responses[403].content.application/problem+json.examples.not_your_key.value.type',
  },
  {
    title: 'an error example with the path of another operation',
    file: 'monitoring/paths/users.yaml',
    find: 'instance: /api/users',
    replacement: 'instance: /api/session',
    rule: 'sitekeeper-example-instance',
    at: 'paths./users.post.responses[403].content.application/problem+json.examples.signup_closed',
  },
  {
    title: 'an error example with a scope that the operation does not require',
    file: 'shared/responses.yaml',
    find: 'the scope $scopes.',
    replacement: 'the scope "websites:read".',
    rule: 'sitekeeper-example-scope',
    at: 'paths./monitors.get.responses[403].content.application/problem+json.examples.missing_scope',
  },
  {
    title: 'an error example with a media type that the operation does not accept',
    file: 'shared/responses.yaml',
    find: 'accepts $mediaType',
    replacement: 'accepts application/x-www-form-urlencoded',
    rule: 'sitekeeper-example-media-type',
    at: 'paths./session.post.responses[415].content.application/problem+json.examples.unsupported_media_type',
  },
  {
    title: 'an error example with a media type that the operation does not return',
    file: 'shared/responses.yaml',
    find: 'returns application/json,',
    replacement: 'returns text/html,',
    rule: 'sitekeeper-example-media-type',
    at: 'paths./keys.get.responses[406].content.application/problem+json.examples.not_acceptable',
  },
  {
    title: 'an error example about a parameter that does not exist',
    file: 'websites/paths/domain.yaml',
    find: 'name: domain, code: invalid_domain',
    replacement: 'name: host, code: invalid_domain',
    rule: 'sitekeeper-example-input',
    at: 'paths./domains/{domain}.get.responses[422].content.application/problem+json.examples.invalid_domain',
  },
  {
    title: 'an error example about a field that does not exist',
    file: 'monitoring/paths/monitors.yaml',
    find: 'pointer: /friendly_name, code: required',
    replacement: 'pointer: /name, code: required',
    rule: 'sitekeeper-example-input',
    at: 'paths./monitors.post.responses[422].content.application/problem+json.examples.two_errors',
  },
  {
    title: 'an error example about an unknown field that does exist',
    file: 'websites/paths/website.yaml',
    find: 'pointer: /domain, code: unknown_field',
    replacement: 'pointer: /favorite, code: unknown_field',
    rule: 'sitekeeper-example-input',
    at: 'paths./websites/{id}.put.responses[422].content.application/problem+json.examples.domain_immutable',
  },
  {
    title: 'an error example about a duplicate key that does not exist',
    file: 'shared/responses.yaml',
    find: 'The key "$field" appears',
    replacement: 'The key "url" appears',
    rule: 'sitekeeper-example-input',
    at: 'paths./users.post.responses[400].content.application/problem+json.examples.duplicate_key',
  },
  {
    title: 'an error example about the limit of another kind of caller',
    file: 'shared/responses.yaml',
    find: 'for this $caller is',
    replacement: 'for this key is',
    rule: 'sitekeeper-example-caller',
    at: 'paths./session.get.responses[429].content.application/problem+json.examples.rate_limited',
  },
  {
    title: 'an error example with the code of another status',
    file: 'monitoring/paths/check.yaml',
    find: 'code: monitor_paused',
    replacement: 'code: precondition_failed',
    rule: 'sitekeeper-example-code',
    at: 'paths./monitors/{id}/check.post.responses[409].content.application/problem+json.examples.monitor_paused',
  },
  {
    title: 'an error example with a placeholder that has no value',
    file: 'shared/responses.yaml',
    find: 'The body is larger than 256 KiB.\n            instance',
    replacement: 'The body of $id is larger than 256 KiB.\n            instance',
    rule: 'sitekeeper-example-placeholder',
    at: 'paths./users.post.responses[413].content.application/problem+json.examples.body_too_large',
  },
  {
    title: 'a reference that cannot be resolved',
    file: 'websites/paths/domain.yaml',
    find: 'ETag: { $ref: ../../shared/headers.yaml#/ETag }',
    replacement: 'ETag: { $ref: ../../shared/headers.yaml#/Version }',
    rule: 'sitekeeper-all-resolved',
    at: 'paths./domains/{domain}.get.responses[200].headers.ETag',
  },
  {
    title: 'a merge key',
    file: 'monitoring/paths/users.yaml',
    find: 'headers: *headers',
    replacement: 'headers:\n        <<: *headers',
    rule: 'sitekeeper-no-merge-keys',
    at: 'openapi/monitoring/paths/users.yaml:41',
  },
  {
    title: 'a string without a maximum length (OWASP rule)',
    file: 'shared/schemas.yaml',
    find: 'detail: { type: string, maxLength: 4000, ',
    replacement: 'detail: { type: string, ',
    rule: 'owasp:api4:2023-string-limit',
    at: 'components.schemas.Problem.properties.detail',
  },
  {
    title: 'two tags (Spectral rule)',
    file: 'websites/paths/verify-password.yaml',
    find: 'tags: [Lookups]',
    replacement: 'tags: [Lookups, Websites]',
    rule: 'operation-singular-tag',
    at: 'paths./websites/{id}/verify-password.post.tags',
  },
  {
    title: 'a request example that violates its schema (Redocly rule)',
    file: 'monitoring/paths/users.yaml',
    find: 'value: { email: ana@example.com,',
    replacement: 'value: { email: ana,',
    rule: 'no-invalid-media-type-examples',
    at: '#/post/requestBody/content/application~1json/examples/sign_up/value/email',
  },
  {
    title: 'a parameter example that violates its schema (Redocly rule)',
    file: 'monitoring/parameters.yaml',
    find: 'example: 3\n',
    replacement: 'example: three\n',
    rule: 'no-invalid-parameter-examples',
    at: '#/ProviderId/example',
  },
  {
    title: 'a tag without a description (Redocly rule)',
    file: 'websites/openapi.yaml',
    find: '    description: Operations for trackers and dashboards. They find a website by its domain and verify its password.\n',
    replacement: '',
    rule: 'tag-description',
    at: '#/tags/1/description',
  },
];

let folder: string;
let linted: Promise<LintResult>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-lint-'));
  for (const name of ['openapi', 'package.json', 'redocly.yaml', '.spectral.yaml']) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { title, file, find, replacement } of injectedErrors) {
    const path = join(folder, 'openapi', file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(find)) throw new Error(`${file} does not contain the text to replace for: ${title}.`);
    writeFileSync(
      path,
      text.replace(find, () => replacement),
    );
  }
  linted = lint(folder);
});

afterAll(async () => {
  await linted;
  rmSync(folder, { recursive: true });
});

function lint(checkout: string): Promise<LintResult> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [join(checkout, 'openapi/tools/lint.ts')], (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, report: stripVTControlCharacters(stdout + stderr) });
    });
  });
}

test.for(injectedErrors)('the linter reports $title', { timeout }, async ({ rule, at }) => {
  const { code, report } = await linted;
  const findings = report.split(startOfFinding).map((finding) => finding.split(/\s+/));
  const matching = findings.filter((words) => words.includes(rule));
  expect(code).toBe(1);
  expect(matching).not.toEqual([]);
  if (at) expect(matching.flat()).toContain(at);
});

test('every custom rule has a test case', () => {
  const rulesIn = (file: string, rule: RegExp) => readFileSync(join(root, file), 'utf8').match(rule) ?? [];
  const customRules = [
    ...rulesIn('.spectral.yaml', /(?<=^ {2})sitekeeper-[a-z-]+(?=:$)/gm),
    ...rulesIn('openapi/tools/error-example-rules.ts', /(?<=')sitekeeper-[a-z-]+(?=')/g),
  ];
  const tested = new Set(injectedErrors.map(({ rule }) => rule));
  expect(customRules).toContain('sitekeeper-example-instance');
  expect(customRules.filter((rule) => !tested.has(rule))).toEqual([]);
});
