// Bodies that are made to hurt, requests of other sites, spellings of one name, and many callers at once.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import {
  type Body,
  createMonitor,
  createWebsite,
  password,
  pathOf,
  signIn,
  type ValidRequest,
  validRequest,
} from '../support/valid-requests.ts';
import { fault } from './fault.ts';

let service: TestService;
let user: TestUser;
let cookie: { Cookie: string };

beforeAll(async () => {
  service = await startService({ signupOpen: true });
  user = await service.createUser(password);
  cookie = await signIn(service, user.email);
});
afterAll(() => service.stop());

const withBody = Object.values(operations).filter(({ body }) => body !== undefined);
const withJson = withBody.filter(({ body }) => body?.mediaType === 'application/json');

/** A valid request of the signed-in user, whom nothing but the cookie names. */
async function prepare({ id }: ContractOperation): Promise<ValidRequest> {
  const request = await validRequest(id, { service, user });
  return { ...request, headers: { ...cookie, ...request.headers } };
}

const send = (operation: ContractOperation, request: ValidRequest, raw?: string, type = operation.body?.mediaType): Promise<ApiResponse> =>
  service.stranger.request(operation.method, pathOf(operation, request), {
    headers: { ...request.headers, ...(raw !== undefined && { 'Content-Type': String(type) }) },
    ...(raw !== undefined && { raw }),
  });

fault(
  10,
  'JSON 100,000 levels deep, 1e400, lone surrogates, NUL: 400 or 422, never 500',
  async () => {
    const counts: Record<number, number> = {};
    const refused = async (operation: ContractOperation, request: ValidRequest, raw?: string) => {
      const { status, text } = await send(operation, request, raw);
      expect([400, 422], `${operation.id} ${raw?.slice(0, 200)}`).toContain(status);
      expect(text.length).toBeLessThan(4 * 2 ** 20);
      counts[status] = (counts[status] ?? 0) + 1;
    };
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const manyFarDown = `${'['.repeat(20_000)}${'"\\u0000",'.repeat(20_000)}1${']'.repeat(20_000)}`;
    for (const operation of withJson) {
      const request = await prepare(operation);
      const fields = Object.entries(request.json ?? {});
      const wholes = [
        deep,
        `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`,
        '1e400',
        '"\\u0000"',
        '"\\ud800"',
        '\u0000',
        '{"\\u0000":1}',
        manyFarDown,
      ];
      for (const raw of wholes) await refused(operation, request, raw);
      for (const [name, value] of fields) {
        const bad = [deep, '1e400', '-1e400', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', `["\\u0000"]`, `{"\\ud800":1}`, '"a\u0000"'];
        if (typeof value === 'string') bad.push(JSON.stringify(`${value}\u0000`), JSON.stringify(`\ud800${value}`));
        for (const text of bad)
          await refused(
            operation,
            request,
            JSON.stringify({ ...request.json, [name]: '@' }).replace('"@"', () => text),
          );
      }
    }
    for (const operation of withBody.filter((each) => !withJson.includes(each))) {
      const request = await prepare(operation);
      for (const [name, value] of [...Object.entries(request.form ?? {}), ['\u0000', '1']]) {
        for (const bad of ['%00', '%ED%A0%80', '%FF', '%']) {
          const others = new URLSearchParams(Object.entries(request.form ?? {}).filter(([other]) => other !== name));
          await refused(operation, request, `${others}&${encodeURIComponent(`${name}`)}=${encodeURIComponent(`${value}`)}${bad}`);
        }
      }
      await refused(operation, request, Array.from({ length: 50_000 }, (_, index) => index.toString(36)).join('&'));
      await refused(operation, request, `${'x'.repeat(100_000)}=1`);
    }
    for (const operation of Object.values(operations)) {
      const request = await prepare(operation);
      for (const parameter of operation.parameters) {
        if (parameter.in === 'query') await refused(operation, { ...request, query: { [parameter.name]: '1\u0000' } });
        if (parameter.in === 'path')
          await refused(operation, { ...request, parameters: { ...request.parameters, [parameter.name]: '1\u0000' } });
      }
    }
    return Object.entries(counts)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ');
  },
  120_000,
);

fault(11, 'JSON with a key twice: 400; __proto__ and constructor keys: 422, nothing polluted', async () => {
  const inherited = Object.getOwnPropertyNames(Object.prototype);
  let [twice, strange] = [0, 0];
  for (const operation of withJson) {
    const request = await prepare(operation);
    const text = JSON.stringify(request.json);
    const [[name, value] = ['', '']] = Object.entries(request.json ?? {});
    const escaped = `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"`;
    for (const key of [`"${name}"`, escaped]) {
      const answer = await send(operation, request, `${text.slice(0, -1)},${key}:${JSON.stringify(value)}}`);
      expect([operation.id, answer.status, answer.body.code]).toEqual([operation.id, 400, 'duplicate_key']);
      twice++;
    }
    for (const key of ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', '\\u005f_proto__']) {
      const answer = await send(operation, request, `${text.slice(0, -1)},"${key}":{"polluted":1,"prototype":{"polluted":1}}}`);
      expect([operation.id, key, answer.status]).toEqual([operation.id, key, 422]);
      strange++;
    }
  }
  for (const operation of withBody.filter((each) => !withJson.includes(each))) {
    const request = await prepare(operation);
    for (const field of ['__proto__', '__proto__[polluted]', 'constructor', 'constructor[prototype][polluted]', 'toString']) {
      const answer = await send(operation, request, `${new URLSearchParams({ ...request.form, [field]: '1' })}`);
      expect([operation.id, field, answer.status]).toEqual([operation.id, field, 422]);
      strange++;
    }
  }
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(inherited);
  expect(({} as Body).polluted).toBeUndefined();
  return `${twice} keys twice, ${strange} keys of the language`;
});

fault(12, 'text/plain JSON with a cookie: 415; an unsafe request from another site with a cookie: 403', async () => {
  const unsafe = Object.values(operations).filter(({ method }) => method !== 'GET');
  const strangers: Record<string, string>[] = [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: service.url.replace('127.0.0.1', '127.0.0.1.evil.example') },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site', Origin: service.url },
  ];
  let [plain, foreign] = [0, 0];
  for (const operation of unsafe) {
    const request = await prepare(operation);
    const raw = operation.body && JSON.stringify(request.json ?? request.form);
    const before = await seen();
    if (raw !== undefined) {
      const { status } = await send(operation, request, raw, 'text/plain');
      expect([operation.id, status]).toEqual([operation.id, 415]);
      plain++;
    }
    for (const headers of strangers) {
      for (const type of ['text/plain', operation.body?.mediaType]) {
        const answer = await send(operation, { ...request, headers: { ...request.headers, ...headers } }, raw, type);
        expect([operation.id, headers, answer.status, answer.body.code]).toEqual([operation.id, headers, 403, 'cross_origin']);
        foreign++;
      }
    }
    expect(await seen()).toEqual(before);
  }
  return `${plain} × 415, ${foreign} × 403 over ${unsafe.length} operations, nothing changed`;
});

/** What the user has, as far as the user can see. */
async function seen(): Promise<string[]> {
  const lists = ['/api/v1/websites', '/api/monitors', '/api/providers', '/api/keys', '/api/session'];
  // Keys remember when they were used, and a session in use lasts longer.
  return Promise.all(
    lists.map(async (path) => (await service.stranger.get(path, { headers: cookie })).text.replace(/"(last_used|expires)_at":[^,}]*/g, '')),
  );
}

fault(13, 'International domains: all spellings of one name are one website', async () => {
  const names = {
    'xn--bcher-kva.example': [
      'bücher.example',
      'BÜCHER.EXAMPLE',
      'bücher.example'.normalize('NFD'),
      'xn--bcher-kva.example',
      'XN--BCHER-KVA.Example',
      'bücher.example.',
      'www.bücher.example',
      'WWW.Bücher.example.',
      'http://bücher.example',
      'HTTPS://www.bücher.example:8443/a?b=c#d',
      'http://b%C3%BCcher.example/',
      'bü\u00adcher.example',
      'bü\u2060cher.example',
      'ｂüｃｈｅｒ．ｅｘａｍｐｌｅ',
      'ｗｗｗ。bücher。example。',
      'bücher｡example',
    ],
    'xn--strae-oqa.example': ['straße.example', 'STRAẞE.example', 'xn--strae-oqa.example', 'www.straße.example'],
    'xn--wgv71a119e.example': ['日本語.example', '日本語。example', 'xn--wgv71a119e.example', 'https://日本語.example/日本語'],
    'xn--mgbh0fb.example': ['مثال.example', 'xn--mgbh0fb.example', 'http://مثال.example./'],
    'xn--fiqs8s.xn--fiqs8s': ['中国.中国', '中国。中国', 'xn--fiqs8s.xn--fiqs8s', 'www.中国.XN--FIQS8S'],
  };
  for (const [domain, spellings] of Object.entries(names)) {
    const { api } = await service.createUser();
    const answers = await Promise.all(spellings.map((spelling) => api.post('/api/v1/websites', { form: { domain: spelling } })));
    expect([domain, answers.map(({ status }) => status).sort()]).toEqual([domain, [201, ...spellings.slice(1).map(() => 409)]]);
    expect((await api.get('/api/v1/websites')).body.data).toMatchObject([{ domain }]);
    for (const spelling of spellings.filter((each) => !each.includes('/'))) {
      expect((await api.get(`/api/v1/domains/${encodeURIComponent(spelling)}`)).body.data).toMatchObject({ domain });
    }
  }
  return `${Object.values(names).flat().length} spellings of ${Object.keys(names).length} names, ${Object.keys(names).length} websites`;
});

fault(18, '100 concurrent creations of one domain: one 201, 99 × 409; 50 updates with one ETag: one 200, 49 × 412', async () => {
  const creations = await atOnce(100, () => user.api.post('/api/v1/websites', { form: { domain: 'wanted.example' } }));
  expect(creations).toEqual({ 201: 1, 409: 99 });
  const sender = { service, user };
  const updates: object[] = [];
  for (const [path, change] of [
    [`/api/v1/websites/${(await createWebsite(sender)).id}`, (index: number) => ({ form: { exclude_params: `p${index}` } })],
    [`/api/monitors/${await createMonitor(sender)}`, (index: number) => ({ json: { friendly_name: `M${index}` } })],
  ] as const) {
    const etag = (await user.api.get(path)).headers.get('ETag') ?? '';
    const outcome = await atOnce(50, (index) => user.api.put(path, { ...change(index), headers: { 'If-Match': etag } }));
    expect([path, outcome]).toEqual([path, { 200: 1, 412: 49 }]);
    updates.push(outcome);
  }
  return `creations ${JSON.stringify(creations)}, updates ${updates.map((each) => JSON.stringify(each)).join(' and ')}`;
});

/** How many of so many requests, all under way together, ended with which status. */
async function atOnce(count: number, request: (index: number) => Promise<ApiResponse>): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => request(index)));
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
