import { randomUUID } from 'node:crypto';
import type { Message, ProviderType } from './channel.ts';

/** The text of a test notification. SMS gets no emoji: it would switch the message to UCS-2, which fits less than half as much text. */
export function testMessage(type: ProviderType): Message {
  const bell = type === 'sms' ? '' : '🔔 ';
  return {
    id: `test-${randomUUID()}`,
    subject: `${bell}Test notification from Sitekeeper`,
    text: `${bell}Test notification from Sitekeeper. If you can read this, alerts will arrive here.`,
  };
}
