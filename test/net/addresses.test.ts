import { describe, expect, test } from 'vitest';
import { hostError, isPublic, literalAddress, parseRanges, urlError } from '../../src/net/addresses.ts';

const web = { protocols: ['http', 'https'] };
const none = parseRanges([]);
const notPublic = 'must be a public address, not a private, local or reserved one';

describe('isPublic', () => {
  test.each([
    ['8.8.8.8'],
    ['1.1.1.1'],
    ['93.184.215.14'],
    ['172.15.255.255'],
    ['172.32.0.1'],
    ['192.167.255.255'],
    ['100.63.255.255'],
    ['100.128.0.1'],
    ['::ffff:8.8.8.8'],
    ['2606:4700:4700::1111'],
    ['2001:4860:4860::8888'],
    ['2a00:1450:4001:82b::200e'],
  ])('accepts %s', (address) => expect(isPublic(address, none)).toBe(true));

  test.each([
    ['0.0.0.0', 'this machine'],
    ['0.1.2.3', 'this network'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['10.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['169.254.169.254', 'metadata'],
    ['169.254.0.1', 'link-local'],
    ['100.64.0.1', 'carrier-grade NAT'],
    ['100.100.100.200', 'metadata at Alibaba'],
    ['168.63.129.16', 'metadata at Azure'],
    ['192.0.0.192', 'metadata at Oracle'],
    ['192.0.2.1', 'documentation'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['198.18.0.1', 'benchmarks'],
    ['192.88.99.1', '6to4 relay'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.250', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'this machine'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::127.0.0.1', 'IPv4-compatible'],
    ['::a00:1', 'IPv4-compatible'],
    ['::ffff:127.0.0.1', 'IPv4-mapped'],
    ['::ffff:7f00:1', 'IPv4-mapped'],
    ['::ffff:a9fe:a9fe', 'IPv4-mapped metadata'],
    ['::ffff:0:127.0.0.1', 'IPv4-translated'],
    ['64:ff9b::127.0.0.1', 'NAT64'],
    ['64:ff9b::a00:1', 'NAT64'],
    ['64:ff9b::8.8.8.8', 'NAT64'],
    ['64:ff9b:1::1', 'NAT64, local'],
    ['2002:7f00:1::', '6to4'],
    ['2002:808:808::1', '6to4'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
    ['2001:2::1', 'benchmarks'],
    ['2001:10::1', 'ORCHID'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['100::1', 'discard'],
    ['fc00::1', 'unique local'],
    ['fd00:ec2::254', 'metadata at Amazon'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local with a zone'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['4000::1', 'not allocated'],
    ['5f00::1', 'segment routing'],
    ['', 'not an address'],
    ['example.com', 'not an address'],
    ['127.1', 'not in dotted decimal notation'],
  ])('rejects %s: %s', (address) => expect(isPublic(address, none)).toBe(false));

  test('accepts addresses in allowed ranges, including their IPv4-mapped form, and no others', () => {
    const allow = parseRanges(['10.1.0.0/16', '192.168.7.7', 'fd00::/8', '::ffff:172.16.0.0/108']);
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.168.7.7', 'fd12::1', '172.16.0.1', '8.8.8.8'])
      expect(isPublic(address, allow), address).toBe(true);
    for (const address of ['10.2.0.1', '192.168.7.8', '127.0.0.1', 'fe80::1', '64:ff9b::10.1.2.3', '2002:a01:203::1'])
      expect(isPublic(address, allow), address).toBe(false);
  });

  test.each([
    ['10.0.0.7', '10.0.0.7', true],
    ['10.0.0.7', '10.0.0.6', false],
    ['fd00::7', 'fd00::7', true],
    ['fd00::7', 'fd00::6', false],
    ['::ffff:0:0/96', '10.0.0.7', true],
    ['::ffff:0:0/95', '10.0.0.7', false],
  ])('an allowed range %s contains %s: %s', (range, address, isAllowed) => {
    expect(isPublic(address, parseRanges([range]))).toBe(isAllowed);
  });
});

describe('literalAddress', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0:0::1', '::1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['0177.0.0.01', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['１２７.０.０.１', '127.0.0.1'],
    ['127。0。0。1', '127.0.0.1'],
    ['①②⑦.0.0.1', '127.0.0.1'],
    ['%31%32%37.0.0.1', '127.0.0.1'],
    ['2852039166', '169.254.169.254'],
    ['0xa9.0xfe.0xa9.0xfe', '169.254.169.254'],
    ['[::]', '::'],
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
    ['localhost', '127.0.0.1'],
    ['localhost.', '127.0.0.1'],
    ['LOCALHOST', '127.0.0.1'],
    ['db.localhost', '127.0.0.1'],
    ['a.b.localhost.', '127.0.0.1'],
    ['8.8.8.8', '8.8.8.8'],
  ])('recognizes %s as %s', (host, address) => expect(literalAddress(host)).toBe(address));

  test.each(['example.com', 'localhost.example.com', 'notlocalhost', '127.0.0.1.example.com', 'a1', ''])(
    'returns undefined for the name %s',
    (host) => expect(literalAddress(host)).toBeUndefined(),
  );
});

describe('urlError', () => {
  test.each([
    ['http://example.com/'],
    ['https://example.com:8443/a?b=c#d'],
    ['http://8.8.8.8/'],
    ['http://[2606:4700:4700::1111]/'],
    ['http://bücher.example/'],
  ])('accepts %s', (url) => expect(urlError(url, web, none)).toBeUndefined());

  test.each([
    ['example.com', 'must be an http or https URL'],
    ['', 'must be an http or https URL'],
    ['http://', 'must be an http or https URL'],
    ['http://300.1.1.1/', 'must be an http or https URL'],
    ['ftp://example.com/', 'must be an http or https URL'],
    ['file:///etc/passwd', 'must be an http or https URL'],
    ['javascript:alert(1)', 'must be an http or https URL'],
    ['http://user@example.com/', 'must not contain a user name or password'],
    ['http://:secret@example.com/', 'must not contain a user name or password'],
    [' http://example.com/', 'must not contain spaces or control characters'],
    ['http://example.com/a b', 'must not contain spaces or control characters'],
    ['http://exam\tple.com/', 'must not contain spaces or control characters'],
    ['http://example.com/\u0000', 'must not contain spaces or control characters'],
  ])('rejects %j: %s', (url, message) => expect(urlError(url, web, none)).toBe(message));

  test.each([
    ['http://127.0.0.1/'],
    ['http://127.0.0.1.:8080/'],
    ['http://2130706433/'],
    ['http://0x7f.1/'],
    ['http://017700000001/'],
    ['http://127.1/'],
    ['http://１２７.0.0.1/'],
    ['http://%31%32%37.0.0.1/'],
    ['http:\\\\127.0.0.1\\'],
    ['http:127.0.0.1'],
    ['http://0/'],
    ['http://[::]/'],
    ['http://[::1]:3000/'],
    ['http://[::ffff:10.0.0.1]/'],
    ['http://[64:ff9b::7f00:1]/'],
    ['http://[2002:7f00:1::]/'],
    ['http://[2001:0:1::]/'],
    ['http://169.254.169.254/latest/meta-data/'],
    ['http://localhost/'],
    ['http://localhost./'],
    ['http://LocalHost:3000/'],
    ['http://db.localhost/'],
  ])('rejects %s, whose host is not a public address', (url) => expect(urlError(url, web, none)).toBe(notPublic));

  test('accepts only the given protocols', () => {
    expect(urlError('https://example.com/', { protocols: ['https'] }, none)).toBeUndefined();
    expect(urlError('http://example.com/', { protocols: ['https'] }, none)).toBe('must be an https URL');
  });

  test('accepts addresses and localhost in allowed ranges', () => {
    const allow = parseRanges(['127.0.0.0/8', '::1']);
    for (const url of ['http://127.0.0.1:3000/', 'http://localhost/', 'http://0x7f.1/', 'http://[::1]/'])
      expect(urlError(url, web, allow), url).toBeUndefined();
    expect(urlError('http://10.0.0.1/', web, allow)).toBe(notPublic);
  });
});

describe('hostError', () => {
  test('accepts a name', () => expect(hostError('example.com', none)).toBeUndefined());

  test.each(['10.0.0.1', '::1', '0x7f.1', 'localhost', '2130706433'])('rejects %s', (host) =>
    expect(hostError(host, none)).toBe(notPublic),
  );
});
