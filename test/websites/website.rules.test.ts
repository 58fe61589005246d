import { describe, expect, test } from 'vitest';
import { passwordRequired, websiteRules } from '../../src/websites/website.rules.ts';

const { createWebsite, updateWebsite, putWebsite } = websiteRules;

test('the message for a missing password names the field', () => {
  expect(passwordRequired).toEqual({
    in: 'body',
    pointer: '/password',
    code: 'password_needed',
    message: 'is required while privacy is 2',
  });
});

describe('a new website', () => {
  test('gets its domain and lists in normal form', () => {
    const body = { domain: 'https://WWW.Example.com/', exclude_params: 'ref\r\nref', exclude_ips: '192.0.2.7/24\n' };
    expect(createWebsite?.(body)).toEqual({
      errors: [],
      normalized: { domain: 'example.com', exclude_params: 'ref', exclude_ips: '192.0.2.0/24' },
    });
  });

  test('gets no fields that were not sent', () => {
    expect(createWebsite?.({})).toEqual({ errors: [], normalized: {} });
  });

  test('keeps lists that are empty', () => {
    expect(createWebsite?.({ exclude_params: '', exclude_ips: '' })).toEqual({
      errors: [],
      normalized: { exclude_params: '', exclude_ips: '' },
    });
  });

  test('is rejected with every error: first the domain, then the lists, then the password', () => {
    const body = { domain: 'localhost', exclude_params: 'a b', exclude_ips: 'x', privacy: 2 as const };
    expect(createWebsite?.(body).errors).toEqual([
      { in: 'body', pointer: '/domain', code: 'invalid_domain', message: 'must be a full domain name, such as example.com' },
      expect.objectContaining({ pointer: '/exclude_params', code: 'invalid_line' }),
      expect.objectContaining({ pointer: '/exclude_ips', code: 'invalid_line' }),
      passwordRequired,
    ]);
  });

  test('has no normal form of a domain that is rejected', () => {
    expect(createWebsite?.({ domain: 'localhost' }).normalized).toEqual({});
  });

  test('reports an error of another kind as it is, not as an invalid domain', () => {
    const domain = JSON.parse('{ "toString": null, "valueOf": null }');
    expect(() => createWebsite?.({ domain })).toThrow(TypeError);
  });

  test.each([
    ['privacy 2 without a password', { privacy: 2 as const }, [passwordRequired]],
    ['privacy 2 with an empty password', { privacy: 2 as const, password: '' }, [passwordRequired]],
    ['privacy 2 with a password', { privacy: 2 as const, password: 'long enough' }, []],
    ['privacy 1 without a password', { privacy: 1 as const }, []],
    ['neither', {}, []],
  ])('with %s has the right errors', (_, body, errors) => {
    expect(createWebsite?.(body).errors).toEqual(errors);
  });
});

describe.each([
  ['PATCH', updateWebsite],
  ['PUT', putWebsite],
])('an update with %s', (_, check) => {
  test.each([
    ['privacy 2 without a password, because the website may have one', { privacy: 2 as const }, []],
    ['privacy 2 with a password', { privacy: 2 as const, password: 'long enough' }, []],
    ['privacy 1 with an empty password', { privacy: 1 as const, password: '' }, []],
    ['only an empty password', { password: '' }, []],
  ])('is accepted with %s', (__, body, errors) => {
    expect(check?.(body)).toEqual({ errors, normalized: {} });
  });

  test('is rejected if it sets privacy 2 and removes the password', () => {
    expect(check?.({ privacy: 2, password: '' }).errors).toEqual([passwordRequired]);
  });

  test('gets its lists in normal form, and only those that were sent', () => {
    expect(check?.({ exclude_ips: '::FFFF:c000:207' })).toEqual({ errors: [], normalized: { exclude_ips: '192.0.2.7' } });
    expect(check?.({ exclude_params: ' ref ' })).toEqual({ errors: [], normalized: { exclude_params: 'ref' } });
  });

  test('is rejected with the errors of both lists', () => {
    expect(check?.({ exclude_ips: 'x', exclude_params: 'a=b' }).errors.map(({ pointer, line }) => [pointer, line])).toEqual([
      ['/exclude_params', 1],
      ['/exclude_ips', 1],
    ]);
  });
});
