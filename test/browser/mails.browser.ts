// Mails as a mail program with media queries shows them.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mailText } from '../../src/monitoring/channels/email/email-message.ts';
import { contentOf } from '../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../src/monitoring/messages/event.ts';
import { groupContent } from '../../src/monitoring/messages/group-content.ts';
import { sampleEvent } from '../support/sample-event.ts';
import { launchBrowser, overflow } from './browser.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

const longest = {
  name: 'W'.repeat(100),
  cause: `the body does not contain "${'x'.repeat(970)}"`,
  url: `https://${'h'.repeat(63)}.${'h'.repeat(63)}.example/${'a'.repeat(1900)}`,
  recipient: `${'r'.repeat(64)}@${'d'.repeat(63)}.example`,
  installation: 'I'.repeat(100),
};

function eventOf(type: StoredEvent['type']): StoredEvent {
  const { name, cause, url } = longest;
  const at = '2026-11-15T12:59:00.000Z';
  if (type === 'test') return { type, timestamp: at, data: {} };
  const event = sampleEvent({ type: type === 'monitor.recovered' ? type : 'monitor.down', name, cause });
  if (!('monitor' in event.data)) expect.fail();
  event.data.monitor.url = url;
  if (type !== 'monitor.tls_expiring') return event;
  return { type, timestamp: at, data: { monitor: { ...event.data.monitor, tls_expires_at: at }, incident: null } };
}

const reached = {
  provider_id: 3,
  provider_type: 'email',
  limit: '100 messages per hour for this provider',
  until: '2026-11-15T13:00:00.000Z',
};
const link = {
  provider_id: 3,
  recipient: `${'r'.repeat(242)}@example.com`,
  account: `${'a'.repeat(242)}@example.com`,
  installation: 'N'.repeat(60),
  url: `https://status.example/confirm-recipient/3/${'s'.repeat(43)}`,
};
const outages = Array.from({ length: 12 }, (_, index) => ({
  type: 'monitor.down' as const,
  monitorId: index,
  event: eventOf('monitor.down'),
}));
const contents = [
  ...(['monitor.down', 'monitor.recovered', 'monitor.tls_expiring', 'test'] as const).map(
    (type) => [type, contentOf(eventOf(type))] as const,
  ),
  ['many monitors', groupContent(outages)],
  ['a limit', contentOf({ type: 'alerts.suppressed', timestamp: '2026-11-15T12:59:00.000Z', data: reached })],
  ['a link', contentOf({ type: 'recipient.confirmation', timestamp: '2026-11-15T12:59:00.000Z', data: link })],
] as const;

describe.each(contents)('a mail about %s', (_, content) => {
  test.each([
    [320, 'light'],
    [320, 'dark'],
    [700, 'light'],
    [700, 'dark'],
  ] as const)('with the longest texts fits into %i pixels, is %s, and loads nothing', async (width, colorScheme) => {
    const { recipient, installation } = longest;
    const { html } = mailText(content, { recipient, installation, incidentId: 4012 });
    const context = await browser.newContext({ viewport: { width, height: 600 }, colorScheme });
    const page = await context.newPage();
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    await page.setContent(html);
    expect(await overflow(page)).toBe(0);
    const isLight = colorScheme === 'light';
    const shades = await page.evaluate<number[]>(
      `[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('h1')).color]
         .map((color) => Math.max(...color.match(/\\d+/g).map(Number)))`,
    );
    expect(shades.map((shade) => shade > 128)).toEqual([isLight, !isLight]);
    expect(requested).toEqual([]);
    await context.close();
  });
});
