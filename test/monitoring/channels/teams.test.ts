import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { groupContent } from '../../../src/monitoring/messages/group-content.ts';
import type { Content } from '../../../src/monitoring/messages/message-content.ts';
import { hostileContent, hostileNames } from '../../support/hostile-content.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { acceptTeamsMessage, teamsCard } from '../../support/teams-receiver.ts';
import { scripts } from '../../support/web-server.ts';
import { failureOf, message, messageOf, startHttpChannels } from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => {
  setup.clearRequests();
  setup.teams.script = acceptTeamsMessage;
});
afterAll(() => setup.close());

const send = (what = message, webhook_url = setup.teamsUrl) => setup.channels.teams.send({ webhook_url }, what);

/** Sends a message through the strict receiver. */
async function cardOf(what: { content: Content }) {
  await send({ ...message, ...what });
  return teamsCard(setup.teams.requests[0]?.body ?? '');
}

const timeOf = (time: string) => `{{DATE(${time}, SHORT)}}, {{TIME(${time})}}`;
const since = timeOf('2026-11-15T01:41:07Z');

describe('card', () => {
  test('about a monitor that is down needs attention, and has its facts and a link to the site', async () => {
    expect(await cardOf(message)).toEqual({
      style: 'attention',
      lines: ['❌ Down: Checkout API', '503 Service Unavailable, expected 2xx'],
      facts: [
        ['Since', since],
        ['Last good', '614 ms'],
        ['Address', 'api.northwind.example'],
      ],
      footer: 'Northwind operations',
      actions: [['Open the site', 'https://api.northwind.example/v2/checkout/health']],
      fallbackText: '❌ Down: Checkout API',
    });
  });

  test('about a recovery says how long the monitor was down', async () => {
    expect(await cardOf(messageOf(sampleEvent({ type: 'monitor.recovered' })))).toMatchObject({
      style: 'good',
      lines: ['✅ Recovered: Checkout API', `Was down 23 min, ${since} to ${timeOf('2026-11-15T02:04:18Z')}`],
      facts: [
        ['Cause', '503 Service Unavailable, expected 2xx'],
        ['Now', '205 ms'],
        ['Address', 'api.northwind.example'],
      ],
    });
  });

  test('about a group lists the monitors and has no facts', async () => {
    const grouped = Array.from({ length: 12 }, (_, index) => ({
      type: 'monitor.down' as const,
      monitorId: index,
      event: sampleEvent({ name: `Shop ${index}` }),
    }));
    const { lines, facts, actions } = await cardOf({ content: groupContent(grouped) });
    expect([lines[0], lines[1], lines.at(-1)]).toEqual(['❌ 12 monitors down', 'Shop 0: 503 Service Unavailable', 'and 2 more']);
    expect([lines.length, facts, actions]).toEqual([12, [], []]);
  });

  test('of a test says so', async () => {
    const { style, lines } = await cardOf(testMessage({ userId: 1, now: new Date() }));
    expect([style, lines[0]]).toEqual(['default', '🔔 Test notification from Sitekeeper']);
  });

  test.each(hostileContent)('%s is a valid card of less than 28 KB', async (_, content) => {
    expect((await cardOf({ content })).lines[0]).toContain(content.title.slice(0, 9));
  });

  test.each(hostileNames)('shows the name %j as it is', async (name) => {
    const { lines, facts } = await cardOf(messageOf(sampleEvent({ type: 'monitor.recovered', name, cause: name })));
    const shown = name.replaceAll('{{', '{\u2060{');
    expect(lines[0]).toBe(`✅ Recovered: ${shown}`);
    const [, cause = ''] = facts[0] ?? [];
    expect(cause.replace(/\\([^0-9A-Za-z\s])/g, '$1')).toBe(shown);
    expect(cause.replace(/\\[^0-9A-Za-z\s]/g, '')).not.toMatch(/[*_~`|<>[\]()#]|\{\{/);
  });
});

test('a workflow that is turned off is a permanent failure with its message', async () => {
  const error = { code: 'WorkflowTriggerIsNotEnabled', message: 'The workflow is turned off.' };
  setup.teams.script = scripts.respond(JSON.stringify({ error }), 400);
  expect(await failureOf(send())).toMatchObject({
    permanent: true,
    message: 'Teams rejected the message with status 400: The workflow is turned off.',
  });
});

test.each([
  ['1', 200],
  ['', 200],
  ['', 202],
])('the response %j with status %i means that the message was accepted', async (body, status) => {
  setup.teams.script = scripts.respond(body, status);
  await send();
});

test('a connector that could not deliver the message is a temporary failure, although its status is 200', async () => {
  setup.teams.script = scripts.respond('Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429.');
  expect(await failureOf(send())).toMatchObject({
    permanent: false,
    message: expect.stringMatching(/^Teams did not confirm the message: Webhook message delivery failed .* HTTP error 429\.$/),
  });
});

test('does not call a stored webhook whose host is no longer allowed', async () => {
  const webhookUrl = `https://other.example:${setup.teams.port}/workflows/hidden`;
  expect(await failureOf(send(message, webhookUrl))).toMatchObject({
    permanent: true,
    message: expect.stringMatching(/^The Teams webhook URL must be an https URL on \*\.api\.powerplatform\.com or /),
  });
  expect(setup.teams.connections).toBe(0);
});

describe('a webhook URL', () => {
  const { delivery } = readConfig({ TEAMS_HOSTS: 'flows.example.com,*.example.org' });
  const errorsOf = (webhook_url: string) => createChannels(delivery, { allow: [] }).teams.check?.({ webhook_url });

  test.each([
    'https://default0123.61.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/x?sig=y',
    'https://prod-186.westus.logic.azure.com:443/workflows/x/triggers/manual/paths/invoke?sig=y',
    'https://northwind.webhook.office.com/webhookb2/x',
    'https://flows.example.com/x',
    'https://a.b.EXAMPLE.org/x',
  ])('accepts %s', (url) => expect(errorsOf(url)).toEqual([]));

  test.each([
    'http://prod-1.westus.logic.azure.com/x',
    'https://logic.azure.com/x',
    'https://logic.azure.com.evil.example/x',
    'https://evillogic.azure.com/x',
    'https://evil.example/x.logic.azure.com',
    'https://evil.example#.logic.azure.com',
    'https://x.logic.azure.com@evil.example/',
    'https://x.logic.azure.com.:443/',
    'https://sub.flows.example.com/x',
    'https://example.org/x',
  ])('rejects %s', (url) =>
    expect(errorsOf(url)).toEqual([
      {
        in: 'body',
        pointer: '/webhook_url',
        code: 'invalid_webhook',
        message:
          'must be an https URL on *.api.powerplatform.com or *.logic.azure.com or *.webhook.office.com or flows.example.com or *.example.org',
      },
    ]),
  );
});
