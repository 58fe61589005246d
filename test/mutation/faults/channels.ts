import { type Fault, faultsIn } from '../fault.ts';

const discord = ['test/monitoring/channels/discord.test.ts'];
const teams = ['test/monitoring/channels/teams.test.ts'];
const pagerDuty = ['test/monitoring/channels/pagerduty.test.ts'];
const renewals = ['test/monitoring/engine/tls-renewals.test.ts'];

export const channelFaults: Fault[] = [
  ...faultsIn({ file: 'src/monitoring/channels/chat-webhook.ts', tests: ['test/monitoring/channels/slack.test.ts'] }, [
    {
      title: 'a webhook on a host that the operator has removed is still used',
      find: 'if (error) throw',
      replace: "if (error === '') throw",
    },
    { title: 'a webhook can use http', find: "url?.protocol !== 'https:' || !", replace: 'url === null || !' },
    {
      title: 'a webhook can be on a host whose name ends like an allowed one',
      find: 'hostname.endsWith(host.slice(1))',
      replace: 'hostname.endsWith(host.slice(2))',
      tests: teams,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/markdown.ts', tests: discord }, [
    { title: 'a name formats a list', find: '|^[-+]|', replace: '|' },
    { title: 'a backslash in a name ends an escape', find: '/[\\\\*_~', replace: '/[*_~' },
    { title: 'an escaped text is longer than its limit', find: 'escapeText(part).length', replace: 'part.length' },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/discord/discord-message.ts', tests: discord }, [
    { title: 'a name in Discord mentions people', find: 'replace(/[:@]/g', replace: 'replace(/[:]/g' },
    { title: 'a message to Discord allows mentions', find: '    allowed_mentions: { parse: [] },\n', replace: '' },
    {
      title: 'Discord rejects the message about a host without a dot',
      find: '(\\.[\\w-]+)+$/',
      replace: '(\\.[\\w-]+)*$/',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/discord/discord.channel.ts', tests: discord }, [
    { title: 'Discord does not say that it has dropped a message', find: "set('wait', 'true')", replace: "set('wait', 'false')" },
    {
      title: 'the delay in the body of Discord is ignored',
      find: 'error?.retry_after && Math.ceil(error.retry_after)',
      replace: 'undefined',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/teams/teams-message.ts', tests: teams }, [
    { title: 'a name in Teams becomes a time', find: "'{\\u2060'", replace: "'{'" },
    {
      title: 'a cause in Teams is formatted',
      find: 'markdownOf(withoutFunctions(part), limits.value)',
      replace: 'encode(part, limits.value)',
    },
    {
      title: 'a card is too long for Teams',
      find: 'truncate(withoutFunctions(text), limit,',
      replace: 'truncate(withoutFunctions(text), limit * 20,',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/teams/teams.channel.ts', tests: teams }, [
    {
      title: 'a message that a connector has not delivered counts as accepted',
      find: "!body.startsWith('Webhook message delivery failed')",
      replace: 'true',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/pagerduty/pagerduty-event.ts', tests: pagerDuty }, [
    {
      title: 'a test leaves an open incident in PagerDuty',
      find: "event.type === 'test' ? [trigger, resolve] : [trigger]",
      replace: '[trigger]',
    },
    {
      title: 'PagerDuty rejects the message about a monitor whose name shows nothing',
      find: 'host || component || installation',
      replace: 'host ?? component ?? installation',
    },
    { title: 'a name is too long for PagerDuty', find: "truncate(summary, maxSummary, '…')", replace: 'summary' },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/pagerduty/pagerduty.channel.ts', tests: pagerDuty }, [
    {
      title: 'a test leaves an open incident in PagerDuty after a single lost request',
      find: '\n        .catch(() => sendEvent(resolve))',
      replace: '',
    },
    {
      title: 'a user is not told that a test has left an open incident',
      find: 'error instanceof DeliveryFailed ? unresolved(error) : error',
      replace: 'error instanceof DeliveryFailed && unresolved ? error : error',
    },
    { title: 'an event that PagerDuty has throttled counts as accepted', find: "status === 'success'", replace: "status !== ''" },
    {
      title: 'an error shows the routing key',
      find: 'secrets: [routingKey]',
      replace: 'secrets: []',
      tests: ['test/monitoring/channels/post.test.ts > redacts secrets'],
    },
  ]),
  ...faultsIn(
    { file: 'src/monitoring/alerts/message-id.ts', tests: ['test/monitoring/alerts/message-id.test.ts > the topic of a message'] },
    [
      {
        title: 'after a restored backup, an incident reopens another one in PagerDuty',
        find: '-${since(event.data.incident.started_at)}`',
        replace: '`',
      },
      {
        title: 'a new certificate does not resolve the warning about the old one',
        find: 'since(event.replacedExpiry)',
        replace: "since(event.data.monitor.tls_expires_at ?? '')",
      },
    ],
  ),
  ...faultsIn({ file: 'src/monitoring/engine/record-tls-warnings.ts', tests: renewals }, [
    { title: 'every check reports a new certificate again', find: 'sql`-m.tls_warnings`', replace: 'sql`m.tls_warnings`' },
    {
      title: 'a host with an old and a new certificate causes a warning with each of them',
      find: 'abs(m.tls_warnings)',
      replace: 'm.tls_warnings',
    },
  ]),
];
