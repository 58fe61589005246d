import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { scripts } from '../../support/web-server.ts';
import { failureOf, message, startHttpChannels, token } from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => {
  setup.clearRequests();
  setup.api.script = scripts.respond('{"ok":true,"result":{"message_id":1}}');
});
afterAll(() => setup.close());

const send = (what = message) => setup.channels.telegram.send({ chat_id: '-100123', token }, what);
const sentBody = () => JSON.parse(setup.api.requests[0]?.body ?? '');

test('calls sendMessage with the chat and the plain text', async () => {
  await send();
  expect(setup.api.requests[0]?.path).toBe(`/bot${token}/sendMessage`);
  expect(sentBody()).toEqual({ chat_id: '-100123', text: message.text, link_preview_options: { is_disabled: true } });
});

test('sends the test message', async () => {
  await send(testMessage(setup.channels.telegram));
  expect(sentBody().text).toMatch(/^🔔 Test notification /);
});

test('truncates a text that is too long', async () => {
  await send({ ...message, text: '🔔'.repeat(3000) });
  expect(sentBody().text).toBe(`${'🔔'.repeat(2047)}…`);
});

test('prefers retry_after in the body to the header', async () => {
  const body = { ok: false, error_code: 429, description: 'Too Many Requests: retry after 14', parameters: { retry_after: 14 } };
  setup.api.script = scripts.respond(JSON.stringify(body), 429, { 'retry-after': '3' });
  expect(await failureOf(send())).toMatchObject({ permanent: false, retryAfterSeconds: 14 });
});

test.each([
  ['an HTML page', '<html>Welcome to the hotel</html>', 'Telegram did not confirm the message.'],
  ['an error', '{"ok":false,"description":"no"}', 'Telegram did not confirm the message: no.'],
  ['an empty body', '', 'Telegram did not confirm the message.'],
])('status 200 with %s is a temporary failure', async (_, body, reason) => {
  setup.api.script = scripts.respond(body);
  expect(await failureOf(send())).toMatchObject({ permanent: false, message: reason });
});

test('redacts the part of the token after the colon', async () => {
  const [, secret] = token.split(':');
  setup.api.script = scripts.respond(JSON.stringify({ ok: false, description: `Unauthorized: ${secret}` }), 401);
  expect(await failureOf(send())).toMatchObject({ message: 'Telegram rejected the message with status 401: Unauthorized: ****.' });
});

test('requires no setting', () => {
  expect(setup.channels.telegram.missingSetting()).toBeUndefined();
});
