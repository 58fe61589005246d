import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { etag, ifMatch } from '../support/etags.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

type Form = Record<string, string> | [string, string][] | string;

let domainCount = 0;

/** Creates a website with these settings. Returns it with functions that update and read it. */
async function createWebsite(settings: Record<string, string> = {}) {
  const { body } = await user.api.post('/api/v1/websites', { form: { domain: `update-${++domainCount}.example`, ...settings } });
  const path = `/api/v1/websites/${body.data.id}`;
  const { id } = body.data;
  return {
    id,
    path,
    created: body.data,
    /** An ETag of this version for If-Match. */
    tag: (version: number) => ifMatch('website', id, version),
    update: (form: Form, headers = {}) => user.api.patch(path, { form, headers }),
    show: () => user.api.get(path),
    verify: async (password: string) => (await user.api.post(`${path}/verify-password`, { form: { password } })).body.data.opens,
  };
}

const allSettings = { privacy: '2', password: 'first', email: '1', exclude_bots: '0', exclude_params: 'ref', exclude_ips: '192.0.2.7' };
const passwordRequired = { in: 'body', pointer: '/password', code: 'password_needed', message: 'is required while privacy is 2' };
const pointers = (body: { errors: { pointer: string }[] }) => body.errors.map(({ pointer }) => pointer);

describe.each(['PUT', 'PATCH'] as const)('%s', (method) => {
  const send = (path: string, form: Form, headers = {}) => user.api.request(method, path, { form, headers });

  test.each([
    ['privacy', '1', { privacy: 1 }],
    ['password', 'second', { has_password: true }],
    ['email', '0', { email: 0 }],
    ['exclude_bots', '1', { exclude_bots: 1 }],
    ['exclude_params', 'utm_source\r\nutm_medium', { exclude_params: 'utm_source\nutm_medium' }],
    ['exclude_ips', '2001:db8::/32', { exclude_ips: '2001:db8::/32' }],
    ['favorite', 'true', { favorite: true }],
  ])('changes %s and keeps the absent fields', async (field, value, change) => {
    const { id, path, created, show } = await createWebsite(allSettings);
    const { status, headers, body } = await send(path, { [field]: value });
    expect([status, headers.get('ETag')]).toEqual([200, etag('website', id, 2)]);
    expect(body.data).toEqual({ ...created, ...change, updated_at: expect.any(String) });
    expect(body.data.updated_at > created.updated_at).toBe(true);
    expect((await show()).body).toEqual(body);
  });

  test('changes all fields at once', async () => {
    const { path, created } = await createWebsite();
    const { body } = await send(path, { ...allSettings, favorite: '1' });
    const { password, ...visible } = { ...allSettings, privacy: 2, email: 1, exclude_bots: 0 };
    expect(body.data).toEqual({ ...created, ...visible, has_password: true, favorite: true, updated_at: expect.any(String) });
  });

  test('an empty form changes nothing and returns the same body and ETag', async () => {
    const { id, path, created } = await createWebsite(allSettings);
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    for (const options of [{}, { headers: type }, { headers: type, raw: '&' }]) {
      const { status, headers, body } = await user.api.request(method, path, options);
      expect([status, headers.get('ETag'), body.data]).toEqual([200, etag('website', id, 1), created]);
    }
  });

  test('creates a new version even if the sent value equals the stored one', async () => {
    const { id, path, created } = await createWebsite(allSettings);
    const { headers, body } = await send(path, { email: '1' });
    expect([headers.get('ETag'), body.data]).toEqual([etag('website', id, 2), { ...created, updated_at: expect.any(String) }]);
  });

  test.each([
    ['the current value', (domain: string) => domain],
    ['another value', () => 'other.example'],
    ['an empty value', () => ''],
  ])('returns 422 for domain with %s, because it cannot be changed', async (_, value) => {
    const { path, created, show } = await createWebsite();
    const { status, body } = await send(path, { domain: value(created.domain), email: '1' });
    expect([status, body.errors]).toEqual([
      422,
      [{ in: 'body', pointer: '/domain', code: 'unknown_field', message: 'cannot be changed after creation' }],
    ]);
    expect(body.detail).toBe('The request has 1 validation error: /domain cannot be changed after creation.');
    expect((await show()).body.data).toEqual(created);
  });

  test('returns 401 without a key and 403 without the scope websites:write', async () => {
    const { path, show, created } = await createWebsite();
    const form = { favorite: '1' };
    expect((await service.anonymous.request(method, path, { form })).status).toBe(401);
    const { status, body } = await (await user.withScopes('websites:read')).request(method, path, { form });
    expect([status, body.detail]).toEqual([403, expect.stringContaining('"websites:write"')]);
    expect((await show()).body.data).toEqual(created);
  });

  test("returns 404 for another user's website, as for an unknown id, with any If-Match", async () => {
    const { path, show, created, tag } = await createWebsite();
    const form = { favorite: '1' };
    const other = await service.createUser();
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-Match': tag(1) }, { 'If-Match': tag(2) }]) {
      const foreign = await other.api.request(method, path, { form, headers });
      expect([foreign.status, foreign.body.detail]).toEqual([404, `Website ${created.id} was not found.`]);
      expectSameProblem(foreign, await other.api.request(method, '/api/v1/websites/999999', { form, headers }));
    }
    expect((await show()).body.data).toEqual(created);
  });

  test('returns 412 and changes nothing if If-Match names another version', async () => {
    const { id, path, created, show, tag } = await createWebsite();
    const others = [tag(2), `${tag(0)}, ${tag(7)}`, `W/${tag(2)}`, ifMatch('website', id + 1, 1), ifMatch('provider', id, 1)];
    for (const tags of [...others, '"1"', '1', tag(1).slice(1, -1)]) {
      const { status, body } = await send(path, { favorite: '1' }, { 'If-Match': tags });
      expect([tags, status, body.code]).toEqual([tags, 412, 'precondition_failed']);
    }
    expect((await show()).body.data).toEqual(created);
  });
});

describe('conditional writes', () => {
  test('If-Match accepts an ETag, a list, * and weak tags', async () => {
    const { id, update, tag } = await createWebsite();
    for (const [index, tags] of [tag(1), `${tag(9)}, ${tag(2)}`, '*', `W/${tag(4)}`].entries()) {
      const { status, headers } = await update({ favorite: `${index % 2}` }, { 'If-Match': tags });
      expect([tags, status, headers.get('ETag')]).toEqual([tags, 200, etag('website', id, index + 2)]);
    }
  });

  test('If-Match accepts the ETag that the last response had', async () => {
    const { update, show } = await createWebsite();
    const read = await show();
    const written = await update({ favorite: '1' }, { 'If-Match': read.headers.get('ETag') ?? '' });
    expect(written.status).toBe(200);
    expect((await update({ favorite: '0' }, { 'If-Match': written.headers.get('ETag') ?? '' })).status).toBe(200);
    expect((await update({ favorite: '1' }, { 'If-Match': written.headers.get('ETag') ?? '' })).status).toBe(412);
  });

  test('returns 412 for an empty form as well', async () => {
    const { update, tag } = await createWebsite();
    expect((await update('', { 'If-Match': tag(2) })).status).toBe(412);
    expect((await update('', { 'If-Match': tag(1) })).status).toBe(200);
  });

  test('prefers 422 to 412, and 404 to both', async () => {
    const { update, tag } = await createWebsite();
    expect((await update({ privacy: '3' }, { 'If-Match': tag(2) })).status).toBe(422);
    expect((await update({ privacy: '2' }, { 'If-Match': tag(2) })).status).toBe(422);
    expect((await user.api.patch('/api/v1/websites/999999', { form: { privacy: '2' }, headers: { 'If-Match': tag(2) } })).status).toBe(404);
  });

  test('of 50 concurrent updates with the same If-Match one succeeds and 49 get 412', async () => {
    const { id, update, show, tag } = await createWebsite();
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => update({ exclude_params: `update-${index}` }, { 'If-Match': tag(1) })),
    );
    const [succeeded, ...others] = responses.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(responses.filter(({ status }) => status === 412)).toHaveLength(49);
    const { headers, body } = await show();
    expect([headers.get('ETag'), body]).toEqual([etag('website', id, 2), succeeded?.body]);
  });

  test('concurrent updates of different fields without If-Match are all applied', async () => {
    const { id, update, show } = await createWebsite();
    for (let round = 0; round < 10; round++) {
      const forms = [
        { favorite: `${round % 2}` },
        { email: `${round % 2}` },
        { exclude_params: `round-${round}` },
        { privacy: `${round % 2}` },
      ];
      await Promise.all(forms.map((form) => update(form)));
      expect((await show()).body.data).toMatchObject({
        favorite: round % 2 === 1,
        email: round % 2,
        exclude_params: `round-${round}`,
        privacy: round % 2,
      });
    }
    expect((await show()).headers.get('ETag')).toEqual(etag('website', id, 41));
  });
});

describe('privacy', () => {
  test.each([0, 1, 2].flatMap((from) => [0, 1, 2].map((to) => [from, to])))(
    'changes from %i to %i if a password is stored',
    async (from, to) => {
      const { update } = await createWebsite({ privacy: `${from}`, password: 'open sesame' });
      const { status, body } = await update({ privacy: `${to}` });
      expect([status, body.data.privacy, body.data.has_password]).toEqual([200, to, true]);
    },
  );

  test('changes to 2 with the password in the same request', async () => {
    const { update, verify } = await createWebsite();
    expect((await update({ privacy: '2', password: 'open sesame' })).body.data).toMatchObject({ privacy: 2, has_password: true });
    expect(await verify('open sesame')).toBe(true);
  });

  test.each([
    ['absent', {}],
    ['empty', { password: '' }],
  ])('returns 422 for 2 and changes nothing if no password is stored and the password is %s', async (_, form) => {
    const { update, show, created } = await createWebsite();
    const { status, body } = await update({ privacy: '2', favorite: '1', ...form });
    expect([status, body.errors]).toEqual([422, [passwordRequired]]);
    expect((await show()).body.data).toEqual(created);
  });
});

describe('password', () => {
  test('sent with privacy 0, takes effect once privacy is 2', async () => {
    const { update, verify } = await createWebsite();
    await update({ password: 'open sesame' });
    expect(await verify('open sesame')).toBe(false);
    await update({ privacy: '2' });
    expect(await verify('open sesame')).toBe(true);
  });

  test('replaces the old one', async () => {
    const { update, verify } = await createWebsite({ privacy: '2', password: 'first' });
    await update({ password: 'second' });
    expect([await verify('first'), await verify('second')]).toEqual([false, true]);
  });

  test('is kept if absent', async () => {
    const { update, verify } = await createWebsite({ privacy: '2', password: 'first' });
    await update({ email: '1' });
    expect(await verify('first')).toBe(true);
  });

  test('is removed if empty, when privacy is not 2 or changes from 2', async () => {
    const leaving = await createWebsite({ privacy: '2', password: 'first' });
    expect((await leaving.update({ privacy: '0', password: '' })).body.data.has_password).toBe(false);
    expect((await leaving.update({ privacy: '2' })).body.errors).toEqual([passwordRequired]);
    const privateWebsite = await createWebsite({ privacy: '1', password: 'first' });
    expect((await privateWebsite.update({ password: '' })).body.data.has_password).toBe(false);
  });

  test('returns 422 if empty while privacy stays 2, and keeps the old one', async () => {
    const { update, verify } = await createWebsite({ privacy: '2', password: 'first' });
    for (const form of [{ password: '' }, { privacy: '2', password: '' }]) {
      const { status, body } = await update(form);
      expect([status, body.errors]).toEqual([422, [passwordRequired]]);
    }
    expect(await verify('first')).toBe(true);
  });

  test('is never returned, and is stored as a hash', async () => {
    const { path, update } = await createWebsite();
    expect((await update({ password: 'hunter2hunter2' })).text).not.toContain('hunter2');
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute('select password_hash from websites where id = ?', [Number(path.split('/').at(-1))]),
    );
    expect(row).toMatchObject({ password_hash: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/) });
  });
});

describe('favorite', () => {
  test.each([
    ['true', true],
    ['True', true],
    ['1', true],
    ['false', false],
    ['False', false],
    ['0', false],
  ])('accepts %s', async (sent, favorite) => {
    const { update } = await createWebsite();
    await update({ favorite: favorite ? '0' : '1' });
    expect((await update({ favorite: sent })).body.data.favorite).toBe(favorite);
  });
});

describe('exclude_params and exclude_ips', () => {
  test('are cleared if empty and kept if absent', async () => {
    const { update } = await createWebsite(allSettings);
    expect((await update({ exclude_params: '' })).body.data).toMatchObject({ exclude_params: '', exclude_ips: '192.0.2.7' });
    expect((await update({ exclude_ips: '\r\n' })).body.data).toMatchObject({ exclude_params: '', exclude_ips: '' });
  });

  test('422 lists the invalid lines of both fields', async () => {
    const { update } = await createWebsite();
    const { body } = await update({ exclude_ips: '1.2.3.4\r\n\r\n999.1.1.1', exclude_params: 'ok\na=b' });
    expect(body.errors.map(({ pointer, line }: { pointer: string; line: number }) => [pointer, line])).toEqual([
      ['/exclude_params', 2],
      ['/exclude_ips', 3],
    ]);
  });
});

describe('null', () => {
  // A form has no null, so text fields take the word literally. The other fields reject it; see "invalid input".
  test('is ordinary text in password and exclude_params', async () => {
    const { update, verify } = await createWebsite(allSettings);
    expect((await update({ password: 'null', exclude_params: 'null' })).body.data).toMatchObject({
      has_password: true,
      exclude_params: 'null',
    });
    expect(await verify('null')).toBe(true);
  });
});

describe('invalid input', () => {
  test.each([
    ['privacy', '3'],
    ['privacy', '-1'],
    ['privacy', 'public'],
    ['privacy', '1.0'],
    ['privacy', '0x1'],
    ['privacy', ''],
    ['privacy', 'null'],
    ['email', '2'],
    ['email', ''],
    ['email', 'null'],
    ['exclude_bots', 'true'],
    ['exclude_bots', ''],
    ['exclude_bots', 'null'],
    ['exclude_ips', 'null'],
    ['favorite', 'maybe'],
    ['favorite', ''],
    ['favorite', 'null'],
    ['favorite', 'TRUE'],
    ['favorite', 'FALSE'],
    ['favorite', 'tRue'],
    ['password', 'x'.repeat(129)],
    ['password', 'a\u0000b'],
    ['id', '7'],
    ['has_password', 'true'],
    ['colour', 'red'],
  ])('returns 422 for %s=%s and changes nothing', async (field, value) => {
    const { update, show, created } = await createWebsite();
    const { status, body } = await update({ [field]: value, email: '1', ...(field === 'email' && { email: value }) });
    expect(status).toBe(422);
    expect(new Set(pointers(body))).toEqual(new Set([`/${field}`]));
    expect((await show()).body.data).toEqual(created);
  });

  test('422 lists every validation error at once', async () => {
    const { update } = await createWebsite();
    const { body } = await update({ domain: 'x.example', privacy: '2', password: '', favorite: 'maybe', exclude_ips: 'x' });
    expect(pointers(body).toSorted()).toEqual(['/domain', '/exclude_ips', '/favorite', '/password']);
  });

  test('returns 422 for a repeated field', async () => {
    const { update } = await createWebsite();
    const { body } = await update('favorite=1&favorite=1');
    expect(body.errors).toEqual([{ in: 'body', pointer: '/favorite', code: 'repeated', message: 'must not be given more than once' }]);
  });

  test('returns 415 for JSON and 400 for a form that is not UTF-8', async () => {
    const { path } = await createWebsite();
    expect((await user.api.patch(path, { json: { favorite: true } })).body.code).toBe('unsupported_media_type');
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await user.api.patch(path, { headers, raw: 'password=%C3%28' })).body.code).toBe('malformed_encoding');
  });

  test('returns 422 for an id that is not a number', async () => {
    expect((await user.api.patch('/api/v1/websites/abc', { form: { favorite: '1' } })).body.errors[0].name).toBe('id');
  });
});
