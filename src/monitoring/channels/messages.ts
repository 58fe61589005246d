import { randomUUID } from 'node:crypto';
import type { Message, ProviderType } from './channel.ts';

/** What a test sends. A bell would turn an SMS into UCS-2, in which less than half as much fits. */
export function testMessage(type: ProviderType): Message {
  const bell = type === 'sms' ? '' : '🔔 ';
  return {
    id: `test-${randomUUID()}`,
    subject: `${bell}Test notification from Sitekeeper`,
    text: `${bell}Test notification from Sitekeeper. If you can read this, alerts will arrive here.`,
  };
}
