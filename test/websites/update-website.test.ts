import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

let made = 0;

/** A website of the user's with these settings; calls to change and read it. */
async function makeWebsite(settings: Record<string, string> = {}) {
  const { body } = await user.api.post('/api/v1/websites', { form: { domain: `update-${++made}.example`, ...settings } });
  const path = `/api/v1/websites/${body.data.id}`;
  return {
    path,
    before: body.data,
    update: (form: Form, headers = {}) => user.api.patch(path, { form, headers }),
    show: () => user.api.get(path),
    opens: async (password: string) => (await user.api.post(`${path}/verify-password`, { form: { password } })).body.data.opens,
  };
}

const all = { privacy: '2', password: 'first', email: '1', exclude_bots: '0', exclude_params: 'ref', exclude_ips: '192.0.2.7' };
const faults = (body: { errors: { pointer: string; code: string }[] }) => body.errors.map(({ pointer, code }) => [pointer, code]);

describe.each(['PUT', 'PATCH'] as const)('PUT and PATCH: %s', (method) => {
  const send = (path: string, form: Form, headers = {}) => user.api.request(method, path, { form, headers });

  test.each([
    ['privacy', '1', { privacy: 1 }],
    ['password', 'second', { has_password: true }],
    ['email', '0', { email: 0 }],
    ['exclude_bots', '1', { exclude_bots: 1 }],
    ['exclude_params', 'utm_source\r\nutm_medium', { exclude_params: 'utm_source\nutm_medium' }],
    ['exclude_ips', '2001:db8::/32', { exclude_ips: '2001:db8::/32' }],
    ['favorite', 'true', { favorite: true }],
  ])('200 with %s changed and the other fields as they were', async (field, value, change) => {
    const { path, before, show } = await makeWebsite(all);
    const { status, headers, body } = await send(path, { [field]: value });
    expect([status, headers.get('ETag')]).toEqual([200, '"2"']);
    expect(body.data).toEqual({ ...before, ...change, updated_at: expect.any(String) });
    expect(body.data.updated_at > before.updated_at).toBe(true);
    expect((await show()).body).toEqual(body);
  });

  test('all fields at once', async () => {
    const { path, before } = await makeWebsite();
    const { body } = await send(path, { ...all, favorite: '1' });
    const { password, ...shown } = { ...all, privacy: 2, email: 1, exclude_bots: 0 };
    expect(body.data).toEqual({ ...before, ...shown, has_password: true, favorite: true, updated_at: expect.any(String) });
  });

  test('an empty form changes nothing: the same body and ETag', async () => {
    const { path, before } = await makeWebsite(all);
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    for (const options of [{}, { headers: type }, { headers: type, raw: '&' }]) {
      const { status, headers, body } = await user.api.request(method, path, options);
      expect([status, headers.get('ETag'), body.data]).toEqual([200, '"1"', before]);
    }
  });

  test('whatever is sent makes a new version, even the value that is stored', async () => {
    const { path, before } = await makeWebsite(all);
    const { headers, body } = await send(path, { email: '1' });
    expect([headers.get('ETag'), body.data]).toEqual(['"2"', { ...before, updated_at: expect.any(String) }]);
  });

  test('422 for domain, even the same one', async () => {
    const { path, before } = await makeWebsite();
    const { status, body } = await send(path, { domain: before.domain, email: '1' });
    expect([status, faults(body)]).toEqual([422, [['/domain', 'unknown_field']]]);
  });

  test("401, 403 and another user's 404, the same as for an unknown id", async () => {
    const { path, show, before } = await makeWebsite();
    const form = { favorite: '1' };
    expect((await service.stranger.request(method, path, { form })).status).toBe(401);
    const refused = await (await user.withScopes('websites:read')).request(method, path, { form });
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('"websites:write"')]);
    const other = await service.createUser();
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-Match': '"1"' }]) {
      const foreign = await other.api.request(method, path, { form, headers });
      expect(foreign.status).toBe(404);
      expectSameProblem(foreign, await other.api.request(method, '/api/v1/websites/999999', { form, headers }));
    }
    expect((await show()).body.data).toEqual(before);
  });

  test('412 and nothing changed where If-Match names another version', async () => {
    const { path, before, show } = await makeWebsite();
    for (const tags of ['"2"', '"0", "7"', 'W/"2"', '1']) {
      const { status, body } = await send(path, { favorite: '1' }, { 'If-Match': tags });
      expect([tags, status, body.code]).toEqual([tags, 412, 'precondition_failed']);
    }
    expect((await show()).body.data).toEqual(before);
  });
});

describe('Conditional writes', () => {
  test('If-Match takes the ETag, a list of them, * and W/', async () => {
    const { update } = await makeWebsite();
    for (const [index, tags] of ['"1"', '"9", "2"', '*', 'W/"4"'].entries()) {
      const { status, headers } = await update({ favorite: `${index % 2}` }, { 'If-Match': tags });
      expect([tags, status, headers.get('ETag')]).toEqual([tags, 200, `"${index + 2}"`]);
    }
  });

  test('an empty form is held to If-Match, too', async () => {
    const { update } = await makeWebsite();
    expect((await update('', { 'If-Match': '"2"' })).status).toBe(412);
  });

  test('422 comes before 412, and 404 before both', async () => {
    const { update } = await makeWebsite();
    expect((await update({ privacy: '3' }, { 'If-Match': '"2"' })).status).toBe(422);
    expect((await update({ privacy: '2' }, { 'If-Match': '"2"' })).status).toBe(422);
    expect((await user.api.patch('/api/v1/websites/999999', { form: { privacy: '2' }, headers: { 'If-Match': '"2"' } })).status).toBe(404);
  });

  test('50 updates at once with one If-Match: one is 200 and 49 are 412', async () => {
    const { update, show } = await makeWebsite();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => update({ exclude_params: `winner-${index}` }, { 'If-Match': '"1"' })),
    );
    const [won, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(49);
    const { headers, body } = await show();
    expect([headers.get('ETag'), body]).toEqual(['"2"', won?.body]);
  });

  test('updates of different fields at once without If-Match lose none', async () => {
    const { update, show } = await makeWebsite();
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
    expect((await show()).headers.get('ETag')).toBe('"41"');
  });
});

describe('Changes of `privacy`', () => {
  test.each([0, 1, 2].flatMap((from) => [0, 1, 2].map((to) => [from, to])))('from %i to %i, with a password stored', async (from, to) => {
    const { update } = await makeWebsite({ privacy: `${from}`, password: 'open sesame' });
    const { status, body } = await update({ privacy: `${to}` });
    expect([status, body.data.privacy, body.data.has_password]).toEqual([200, to, true]);
  });

  test('to 2 with the password in the same request', async () => {
    const { update, opens } = await makeWebsite();
    expect((await update({ privacy: '2', password: 'open sesame' })).body.data).toMatchObject({ privacy: 2, has_password: true });
    expect(await opens('open sesame')).toBe(true);
  });

  test('422 for 2 where no password is sent or stored, and nothing is changed', async () => {
    const { update, show, before } = await makeWebsite();
    for (const form of [
      { privacy: '2', favorite: '1' },
      { privacy: '2', password: '', favorite: '1' },
    ]) {
      const { status, body } = await update(form);
      expect([status, faults(body)]).toEqual([422, [['/password', 'password_needed']]]);
    }
    expect((await show()).body.data).toEqual(before);
  });
});

describe('`password`', () => {
  test('sent with privacy 0 it works once privacy is 2', async () => {
    const { update, opens } = await makeWebsite();
    await update({ password: 'open sesame' });
    expect(await opens('open sesame')).toBe(false);
    await update({ privacy: '2' });
    expect(await opens('open sesame')).toBe(true);
  });

  test('a new one takes the place of the old one', async () => {
    const { update, opens } = await makeWebsite({ privacy: '2', password: 'first' });
    await update({ password: 'second' });
    expect([await opens('first'), await opens('second')]).toEqual([false, true]);
  });

  test('absent, it stays', async () => {
    const { update, opens } = await makeWebsite({ privacy: '2', password: 'first' });
    await update({ email: '1' });
    expect(await opens('first')).toBe(true);
  });

  test('empty, it is removed, together with leaving privacy 2 or before', async () => {
    const leaving = await makeWebsite({ privacy: '2', password: 'first' });
    expect((await leaving.update({ privacy: '0', password: '' })).body.data.has_password).toBe(false);
    expect(faults((await leaving.update({ privacy: '2' })).body)).toEqual([['/password', 'password_needed']]);
    const before = await makeWebsite({ privacy: '1', password: 'first' });
    expect((await before.update({ password: '' })).body.data.has_password).toBe(false);
  });

  test('empty while privacy stays 2: 422, and the old one still works', async () => {
    const { update, opens } = await makeWebsite({ privacy: '2', password: 'first' });
    for (const form of [{ password: '' }, { privacy: '2', password: '' }]) {
      const { status, body } = await update(form);
      expect([status, faults(body)]).toEqual([422, [['/password', 'password_needed']]]);
    }
    expect(await opens('first')).toBe(true);
  });

  test('it is never returned, and stored hashed', async () => {
    const { path, update } = await makeWebsite();
    expect((await update({ password: 'hunter2hunter2' })).text).not.toContain('hunter2');
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute('select password_hash from websites where id = ?', [Number(path.split('/').at(-1))]),
    );
    expect(row).toMatchObject({ password_hash: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/) });
  });
});

describe('`favorite`', () => {
  test.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('takes %s', async (sent, favorite) => {
    const { update } = await makeWebsite();
    await update({ favorite: favorite ? '0' : '1' });
    expect((await update({ favorite: sent })).body.data.favorite).toBe(favorite);
  });
});

describe('`exclude_params`, `exclude_ips` and line ends', () => {
  test('empty, they are emptied; absent, they stay', async () => {
    const { update } = await makeWebsite(all);
    expect((await update({ exclude_params: '' })).body.data).toMatchObject({ exclude_params: '', exclude_ips: '192.0.2.7' });
    expect((await update({ exclude_ips: '\r\n' })).body.data).toMatchObject({ exclude_params: '', exclude_ips: '' });
  });

  test('422 names the bad lines of both lists', async () => {
    const { update } = await makeWebsite();
    const { body } = await update({ exclude_ips: '1.2.3.4\r\n\r\n999.1.1.1', exclude_params: 'ok\na=b' });
    expect(body.errors.map(({ pointer, line }: { pointer: string; line: number }) => [pointer, line])).toEqual([
      ['/exclude_params', 2],
      ['/exclude_ips', 3],
    ]);
  });
});

describe('Bad input', () => {
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
    ['exclude_bots', 'true'],
    ['exclude_bots', ''],
    ['favorite', 'maybe'],
    ['favorite', ''],
    ['favorite', 'null'],
    ['favorite', 'TRUE'],
    ['password', 'x'.repeat(129)],
    ['password', 'a\u0000b'],
    ['id', '7'],
    ['has_password', 'true'],
    ['colour', 'red'],
  ])('422 for %s=%s, and nothing is changed', async (field, value) => {
    const { update, show, before } = await makeWebsite();
    const { status, body } = await update({ [field]: value, email: '1', ...(field === 'email' && { email: value }) });
    expect(status).toBe(422);
    expect(new Set(body.errors.map(({ pointer }: { pointer: string }) => pointer))).toEqual(new Set([`/${field}`]));
    expect((await show()).body.data).toEqual(before);
  });

  test('422 names every fault at once', async () => {
    const { update } = await makeWebsite();
    const { body } = await update({ domain: 'x.example', privacy: '2', password: '', favorite: 'maybe', exclude_ips: 'x' });
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
      '/domain',
      '/exclude_ips',
      '/favorite',
      '/password',
    ]);
  });

  test('422 for a field given twice', async () => {
    const { update } = await makeWebsite();
    expect(faults((await update('favorite=1&favorite=1')).body)).toEqual([['/favorite', 'repeated']]);
  });

  test('415 for JSON, 400 for a form that is not UTF-8', async () => {
    const { path } = await makeWebsite();
    expect((await user.api.patch(path, { json: { favorite: true } })).body.code).toBe('unsupported_media_type');
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await user.api.patch(path, { headers, raw: 'password=%C3%28' })).body.code).toBe('malformed_encoding');
  });

  test('422 for an id that is no number', async () => {
    expect((await user.api.patch('/api/v1/websites/abc', { form: { favorite: '1' } })).body.errors[0].name).toBe('id');
  });
});
