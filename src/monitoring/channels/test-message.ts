import { randomUUID } from 'node:crypto';
import type { Channel, Message } from './channel.ts';

/** The text of a test notification. */
export function testMessage({ acceptsEmoji }: Pick<Channel, 'acceptsEmoji'>): Message {
  const bell = acceptsEmoji ? '🔔 ' : '';
  return {
    id: `test-${randomUUID()}`,
    subject: `${bell}Test notification from Sitekeeper`,
    text: `${bell}Test notification from Sitekeeper. If you can read this, alerts will arrive here.`,
  };
}
