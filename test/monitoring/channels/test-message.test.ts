import { expect, test } from 'vitest';
import type { ProviderType } from '../../../src/monitoring/channels/channel.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';

test.each<[ProviderType, string]>([
  ['email', '🔔 Test notification '],
  ['slack', '🔔 Test notification '],
  ['telegram', '🔔 Test notification '],
  ['sms', 'Test notification '],
])('the text for %s starts with %j', (type, start) => {
  expect(testMessage(type).text.startsWith(start)).toBe(true);
});

test('every message has its own id', () => {
  expect(testMessage('email').id).not.toBe(testMessage('email').id);
});
