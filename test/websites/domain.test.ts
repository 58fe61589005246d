import { describe, expect, test } from 'vitest';
import { InvalidDomain, normalizeDomain, unicodeForm } from '../../src/websites/domain.ts';

const longest = `${`${'a'.repeat(49)}.`.repeat(5)}abc`;

describe('normal form', () => {
  test.each([
    ['takes the host of a URL', 'https://WWW.Shop.example.com:8443/path?x#y', 'shop.example.com'],
    ['accepts a scheme in upper case', 'HTTP://shout.example', 'shout.example'],
    ['converts an international name to ASCII', 'bücher.example', 'xn--bcher-kva.example'],
    ['converts to lower case and removes a trailing dot', 'MÜNCHEN.example.', 'xn--mnchen-3ya.example'],
    ['converts full-width letters and dots', 'ｆｕｌｌｗｉｄｔｈ．example', 'fullwidth.example'],
    ['removes a soft hyphen', 'soft\u00adhyphen.example', 'softhyphen.example'],
    ['accepts mixed scripts', 'p\u0430ypal.example', 'xn--pypal-4ve.example'],
    ['keeps www. if only one label would be left', 'www.com', 'www.com'],
    ['removes www. as long as two labels are left', 'www.www.example', 'www.example'],
    ['removes every leading www.', 'www.www.a.example', 'a.example'],
    ['keeps www. behind another label', 'shop.www.example.com', 'shop.www.example.com'],
    ['accepts a label of 63 characters', `${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
    ['accepts 253 characters', longest, longest],
  ])('%s: %s', (_, given, domain) => {
    expect(normalizeDomain(given)).toBe(domain);
  });

  test.each([
    ['composed and decomposed letters', 'f\u00fcr.example', 'fu\u0308r.example'],
    ['a name and its ASCII form', 'gr\u00fcn.example', 'XN--GRN-IOA.example'],
    ['mixed scripts and their ASCII form', '\u0430pple.example', 'xn--pple-43d.example'],
    ['an ideographic full stop and a dot', 'stop\u3002example', 'stop.example'],
    ['a full-width name with a soft hyphen and a plain name', '\uff57\uff49\u00ad\uff44\uff45.example', 'wide.example'],
  ])('is the same for %s', (_, first, second) => {
    expect(normalizeDomain(first)).toBe(normalizeDomain(second));
  });
});

const spaces = 'must not contain spaces';
const bareName = 'must be a domain name or an http(s) URL; a bare name cannot have a port or a path';
const notAName = 'must be a domain name';
const credentials = 'must not contain a user name or password';
const address = 'must be a domain name, not an IP address';
const notFull = 'must be a full domain name, such as example.com';
const parts =
  'must consist of labels separated by dots; each label has 1 to 63 letters, digits or hyphens and does not start or end with a hyphen';
const encoded = 'must not contain an encoded label (xn--…) that cannot be decoded';

describe('rejects', () => {
  test.each([
    ['a space', 'exa mple.com', spaces],
    ['a trailing space', 'example.com ', spaces],
    ['a bare name with a port', 'example.com:80', bareName],
    ['a bare name with a path', 'example.com/x', bareName],
    ['a bare name with a URL as its path', 'example.com/http://other.example', bareName],
    ['another scheme', 'ftp://example.com/', bareName],
    ['an IPv6 address without brackets', '2001:db8::1', bareName],
    ['an empty name', '', notAName],
    ['a URL with a user name', 'https://me@example.com/', credentials],
    ['a URL with a password', 'https://:pw@example.com/', credentials],
    ['an IPv4 address', '192.0.2.1', address],
    ['an IPv4 address with a trailing dot', '192.0.2.1.', address],
    ['an IPv4 address in a URL', 'http://192.0.2.1/', address],
    ['an IPv4 address in hex', '0xC0000201', address],
    ['an IPv4 address in octal', '0300.0.02.01', address],
    ['an IPv4 address as one number', '3221225985', address],
    ['an IPv4 address in two parts', '127.1', address],
    ['an IPv4 address in full-width digits', '\uff11\uff19\uff12.0.2.1', address],
    ['an IPv6 address', 'http://[2001:db8::1]/', address],
    ['an IPv4-mapped IPv6 address', 'http://[::ffff:192.0.2.1]/', address],
    ['a single label', 'localhost', notFull],
    ['a single label with a trailing dot in a URL', 'http://localhost./', notFull],
    ['an empty label', 'a..example', parts],
    ['a leading dot', '.example.com', parts],
    ['a label of 64 characters', `${'a'.repeat(64)}.example`, parts],
    ['an underscore', 'a_b.example', parts],
    ['a leading hyphen', '-a.example', parts],
    ['a trailing hyphen', 'a-.example', parts],
    ['an encoded label that cannot be decoded', 'xn--0.example', encoded],
    ['an encoded label without content', 'xn--.example', parts],
    ['254 characters', `${longest}d`, 'must have at most 253 characters'],
  ])('%s: %s', (_, given, message) => {
    expect(() => normalizeDomain(given)).toThrow(new InvalidDomain(message));
  });
});

test.each([
  ['xn--bcher-kva.example', 'bücher.example'],
  ['shop.xn--mnchen-3ya.example', 'shop.münchen.example'],
  ['example.com', null],
])('the Unicode form of %s is %j', (domain, unicode) => expect(unicodeForm(domain)).toBe(unicode));
