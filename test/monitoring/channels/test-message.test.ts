import { expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import type { ProviderType } from '../../../src/monitoring/channels/channel.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';

const channels = createChannels(readConfig({}).delivery, { allow: [] });

test.each<[ProviderType, string]>([
  ['email', '🔔 Test notification from Sitekeeper'],
  ['slack', '🔔 Test notification from Sitekeeper'],
  ['telegram', '🔔 Test notification from Sitekeeper'],
  ['sms', 'Test notification from Sitekeeper'],
])('the message for %s has the subject %j, with which its text begins', (type, subject) => {
  expect(testMessage(channels[type])).toEqual({
    id: expect.stringMatching(/^test-[0-9a-f-]{36}$/),
    subject,
    text: `${subject}. If you can read this, alerts will arrive here.`,
  });
});

test('every message has its own id', () => {
  expect(testMessage(channels.email).id).not.toBe(testMessage(channels.email).id);
});
