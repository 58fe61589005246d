import { expect, test } from 'vitest';
import { checks } from '../../../src/monitoring/checks/registry.ts';

test.each([
  ['https://Shop.Example:8443/path?q#f', 'shop.example'],
  ['http://shop.example', 'shop.example'],
  ['http://shop.example./', 'shop.example'],
  ['http:\\\\shop.example\\x', 'shop.example'],
  ['http://@shop.example/', 'shop.example'],
  ['http://[2001:DB8::1]:80/', '[2001:db8::1]'],
])('the host of the HTTP target %s is %s', (url, host) => {
  expect(checks.http.hostOf(url)).toBe(host);
});

test.each([
  ['shop.example', 'shop.example'],
  ['shop.example.', 'shop.example'],
  ['2001:db8::1', '2001:db8::1'],
  ['192.0.2.7', '192.0.2.7'],
  ['https://shop.example/', 'shop.example'],
])('the host of the ping target %s is %s', (target, host) => {
  expect(checks.ping.hostOf(target)).toBe(host);
});
