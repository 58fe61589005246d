import { describe, expect, test } from 'vitest';
import { allowedVersions, etagOf, matchesETag, requireETag, requireVersion } from '../../src/http/etags.ts';

const website = { kind: 'website', id: 7, number: 3 } as const;
const monitor = { kind: 'monitor', id: 7, number: '3.12' } as const;

describe('etagOf', () => {
  test('names the resource, its version and 16 digits of the SHA-256 of the body', () => {
    expect(etagOf('{}', website)).toBe('"website-7-3-44136fa355b3678a"');
    expect(etagOf('{}', monitor)).toBe('"monitor-7-3.12-44136fa355b3678a"');
  });

  test('is only the hash of the body for a list', () => {
    expect(etagOf('[]', undefined)).toBe('"4f53cda18c2baa0c"');
  });
});

describe('matchesETag', () => {
  const etag = '"website-7-3-44136fa355b3678a"';

  test.each([
    ['the same ETag', etag],
    ['a weak one, as a compressing proxy sends it', `W/${etag}`],
    ['one of several', `"a", ${etag} , "b"`],
    ['any', '*'],
    ['any, with spaces', ' * '],
  ])('accepts %s', (_, header) => expect(matchesETag(header, etag)).toBe(true));

  test.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another hash', '"website-7-3-0000000000000000"'],
    ['a value without quotes', 'website-7-3-44136fa355b3678a'],
    ['text before the quotes', `x${etag}`],
    ['text after the quotes', `${etag}x`],
    ['a star with other text', '**'],
    ['a weak star', 'W*'],
  ])('rejects %s', (_, header) => expect(matchesETag(header, etag)).toBe(false));

  test('an empty ETag matches nothing that cannot be parsed', () => {
    expect(matchesETag('x', '"website"')).toBe(false);
    expect(matchesETag('""', '""')).toBe(true);
  });
});

describe('requireVersion', () => {
  test.each([
    ['no header', undefined, website],
    ['any', '*', website],
    ['the version with the hash of another body', '"website-7-3-0123456789abcdef"', website],
    ['one of several', '"website-7-2-aa", "website-7-3-bb"', website],
    ['a monitor whose state has changed since', '"monitor-7-3.9-0123456789abcdef"', monitor],
  ])('accepts %s', (_, header, version) => expect(() => requireVersion(header, version)).not.toThrow());

  test.each([
    ['an older version', '"website-7-2-aa"', website],
    ['a longer version number', '"website-7-33-aa"', website],
    ['another resource', '"website-8-3-aa"', website],
    ['another kind', '"monitor-7-3-aa"', website],
    ['a version without a hash', '"website-7-3"', website],
    ['a hash with other letters', '"website-7-3-xyz"', website],
    ['text after the hash', '"website-7-3-aa-bb"', website],
    ['other settings of a monitor in the same state', '"monitor-7-2.12-aa"', monitor],
    ['an empty header', '', website],
  ])('rejects %s', (_, header, version) => {
    expect(() => requireVersion(header, version)).toThrow(
      expect.objectContaining({
        code: 'precondition_failed',
        message: 'The resource no longer has a version listed in If-Match. Read it again and repeat the change.',
      }),
    );
  });
});

test('requireETag compares everything but the hash', () => {
  expect(() => requireETag('"website-7-3-aa"', '"website-7-3-bb"')).not.toThrow();
  expect(() => requireETag('"website-7-4-bb"', '"website-7-3-bb"')).toThrow('no longer has a version');
});

describe('allowedVersions', () => {
  test.each([
    ['no header', undefined],
    ['any', '*'],
    ['any beside a version', '"website-7-3-aa", *'],
  ])('%s allows every version', (_, header) => expect(allowedVersions(header, 'website', 7)).toBeUndefined());

  test.each([
    ['the versions of this resource', '"website-7-3-aa", "website-7-12-bb"', [3, 12]],
    ['no versions of others', '"website-8-3-aa", "monitor-7-3-aa", "x-website-7-3-aa", "website-77-3-aa"', []],
    ['the largest number that the column can have', '"website-7-999999999-aa"', [999_999_999]],
    ['no number that is too large', '"website-7-1000000000-aa"', []],
    ['no zero, sign or fraction', '"website-7-0-aa", "website-7-03-aa", "website-7--3-aa", "website-7-3x-aa"', []],
    ['no version without a hash', '"website-7-3"', []],
    ['nothing for an empty header', '', []],
  ])('allows %s', (_, header, versions) => expect(allowedVersions(header, 'website', 7)).toEqual(versions));

  test('ignores the state of a monitor', () => expect(allowedVersions('"monitor-7-3.12-aa"', 'monitor', 7)).toEqual([3]));
});
