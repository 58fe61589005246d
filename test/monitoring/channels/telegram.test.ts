import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { hostileContent } from '../../support/hostile-content.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { scripts } from '../../support/web-server.ts';
import { failureOf, message, messageOf, startHttpChannels, token } from './http-channels.ts';

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

test('calls sendMessage with the chat and a text in HTML', async () => {
  await send();
  expect(setup.api.requests[0]?.path).toBe(`/bot${token}/sendMessage`);
  const text = [
    '<b>❌ Down: Checkout API</b>',
    '503 Service Unavailable, expected 2xx',
    'Since Sun 15 Nov, 01:41 UTC',
    'last good 614 ms · <a href="https://api.northwind.example/v2/checkout/health">api.northwind.example</a> · Northwind operations',
  ].join('\n');
  expect(sentBody()).toEqual({ chat_id: '-100123', text, parse_mode: 'HTML', link_preview_options: { is_disabled: true } });
});

test('a recovery says how long the monitor was down', async () => {
  await send(messageOf(sampleEvent({ type: 'monitor.recovered' })));
  expect(sentBody().text).toMatch(
    /^<b>✅ Recovered: Checkout API<\/b>\nWas down 23 min, Sun 15 Nov, 01:41 to 02:04 UTC\n503 Service Unavailable, expected 2xx\nnow 205 ms · /,
  );
});

test('a text cannot contain markup, and a URL cannot end its link', async () => {
  const event = sampleEvent({ name: '<a href="tg://x">& b</a>' });
  if (event.type !== 'monitor.down') expect.fail();
  event.data.monitor.url = 'https://shop.example/"><b>x';
  await send(messageOf(event));
  expect(sentBody().text).toContain('<b>❌ Down: &lt;a href=&quot;tg://x&quot;&gt;&amp; b&lt;/a&gt;</b>');
  expect(sentBody().text).toContain('<a href="https://shop.example/&quot;&gt;&lt;b&gt;x">shop.example</a>');
});

test('the name of the installation is no markup either', async () => {
  const { delivery } = readConfig({ TELEGRAM_API_URL: setup.api.url, INSTALLATION_NAME: 'R&D <ops>' });
  await createChannels(delivery, setup.net).telegram.send({ chat_id: '-100123', token }, message);
  expect(sentBody().text).toMatch(/ · R&amp;D &lt;ops&gt;$/);
});

test('a text mentions nobody', async () => {
  await send(messageOf(sampleEvent({ name: 'Shop @durov @', cause: 'the body contains "@durov"' })));
  expect(sentBody().text).toMatch(/^<b>❌ Down: Shop @\u2060durov @<\/b>\nthe body contains &quot;@\u2060durov&quot;\n/);
});

test('sends the test message', async () => {
  await send(testMessage({ userId: 1, now: new Date() }));
  expect(sentBody().text).toMatch(/^🔔 Test notification /);
});

/** What Telegram shows: its text without the markup. Fails if the markup is not valid. */
function shownText(html: string): string {
  const text = html.replace(/<b>([^<>]*)<\/b>|<a href="[^<>"]*">([^<>]*)<\/a>/g, '$1$2');
  expect(text.replace(/&(amp|lt|gt|quot);/g, '')).not.toMatch(/[&<>"]/);
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

test.each(hostileContent)('%s fits into the 4,096 characters that Telegram accepts after removing the markup', async (_, content) => {
  await send({ ...message, content });
  const shown = shownText(sentBody().text);
  expect(shown).toContain(content.title.slice(0, 9));
  expect(shown).toMatch(/(\n| · )Northwind operations$/);
  expect(shown.length).toBeLessThanOrEqual(4096);
});

test('the longest cause that is stored is shown in full', async () => {
  const cause = `the body does not contain "${'&'.repeat(972)}"`;
  await send(messageOf(sampleEvent({ name: '@a'.repeat(50), cause })));
  expect(shownText(sentBody().text).split('\n')[1]).toBe(cause);
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
