import { expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import type { ProviderType } from '../../../src/monitoring/channels/channel.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';

const channels = createChannels(readConfig({}).delivery, { allow: [] });

test.each<[ProviderType, string]>([
  ['email', '🔔 Test notification '],
  ['slack', '🔔 Test notification '],
  ['telegram', '🔔 Test notification '],
  ['sms', 'Test notification '],
])('the text for %s starts with %j', (type, start) => {
  expect(testMessage(channels[type]).text.startsWith(start)).toBe(true);
});

test('every message has its own id', () => {
  expect(testMessage(channels.email).id).not.toBe(testMessage(channels.email).id);
});
