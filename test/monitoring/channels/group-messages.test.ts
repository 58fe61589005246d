import { expect, test } from 'vitest';
import { mailText } from '../../../src/monitoring/channels/email/email-message.ts';
import { slackMessage } from '../../../src/monitoring/channels/slack/slack-message.ts';
import { telegramText } from '../../../src/monitoring/channels/telegram/telegram-message.ts';
import { groupContent } from '../../../src/monitoring/messages/group-content.ts';
import { sampleEvent } from '../../support/sample-event.ts';

const contentOf = (name: string) =>
  groupContent(Array.from({ length: 250 }, (_, index) => ({ type: 'monitor.down', monitorId: index, event: sampleEvent({ name }) })));

test('names in a list are escaped', () => {
  const content = contentOf('<b>&@channel <!here> _x_');
  expect(slackMessage(content, 'Sitekeeper').text).toContain('\n&lt;b&gt;&amp;@channel &lt;!here&gt; _x_: 503');
  expect(slackMessage(content, 'Sitekeeper').mrkdwn).toBe(false);
  expect(telegramText(content, 'Sitekeeper')).toContain('\n&lt;b&gt;&amp;@\u2060channel &lt;!here&gt; _x_: 503');
  const { html, text } = mailText(content, { recipient: 'ops@example.com', installation: 'Sitekeeper', incidentId: undefined });
  expect(html).toContain('&lt;b&gt;&amp;@channel &lt;!here&gt; _x_: 503');
  expect(text).toContain('<b>&@channel <!here> _x_: 503');
});
