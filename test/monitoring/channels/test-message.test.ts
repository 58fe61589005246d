import { expect, test } from 'vitest';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';

const now = new Date(Date.UTC(2026, 10, 15));

test('a test message says what it is, for whom it is, and when it was sent', () => {
  expect(testMessage({ userId: 7, now })).toMatchObject({
    id: expect.stringMatching(/^test-[0-9a-f-]{36}$/),
    userId: 7,
    event: { type: 'test', timestamp: '2026-11-15T00:00:00.000Z', data: {} },
    content: { sign: '🔔', title: 'Test notification from Sitekeeper', line: ['If you can read this, alerts will arrive here.'] },
  });
});

test('every message has its own id', () => {
  expect(testMessage({ userId: 7, now }).id).not.toBe(testMessage({ userId: 7, now }).id);
});
