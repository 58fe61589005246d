import { randomUUID } from 'node:crypto';
import { contentOf } from '../messages/content.ts';
import type { Message } from './channel.ts';

/** A test notification. */
export function testMessage({ userId, now }: { userId: number; now: Date }): Message {
  const event = { type: 'test', timestamp: now.toISOString(), data: {} } as const;
  const id = `test-${randomUUID()}`;
  return { id, topic: id, userId, event, content: contentOf(event) };
}
