import { type Html, html, renderText } from './html.ts';
import { renderPage } from './layout.ts';
import { type Recipe, recipes } from './recipes.ts';

const alertExample = `DOWN: Login page (https://shop.example.org/login) since 2026-11-10 07:29:31 UTC: the body does not contain "Forgot your password?"`;

/** In two hours. The second command is for macOS. */
const untilLine = `until=$(date -u -d '2 hours' +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v+2H +%Y-%m-%dT%H:%M:%SZ)`;

export function renderRecipesPage(publicUrl: string): Html {
  return renderPage({
    title: 'What can be monitored',
    path: '/docs/recipes',
    body: html`<h1>What can be monitored</h1>
<p>Pages, APIs, certificates, ports, hosts, and jobs that run on a schedule. Each recipe creates one monitor: replace the names and
addresses with yours, and set <code>KEY</code> to an API key with the scopes <code>monitors:read</code> and
<code>monitors:write</code>. All fields are in the
<a href="monitoring">API reference</a>. To get alerts, assign a provider to the monitor, as in <a href="getting-started#first-alert">Getting
started</a>. If the monitor is down already, the provider is told only that it is up again, and gets reminders if the assignment has
them.</p>
<ul>
${recipes.map(({ id, title }) => html`<li><a href="recipes#${id}">${title}</a></li>\n`)}<li><a href="recipes#down">When a monitor goes down</a></li>
<li><a href="recipes#uptime">Uptime and response times</a></li>
<li><a href="recipes#maintenance">Maintenance</a></li>
<li><a href="recipes#many">Many monitors</a></li>
</ul>
${recipes.map((recipe) => renderRecipe(recipe, publicUrl))}
<section class="step" id="down">
<h2>When a monitor goes down</h2>
<p>${renderText('After a failed check of a page, port or host, two more follow, 5 seconds apart. If they fail as well, the monitor goes down, an incident opens, and each assigned provider gets an alert. `confirmations` changes the number of these checks, from 0 to 5, and `timeout_seconds` the time that each of them has. A heartbeat monitor goes down at once: when a heartbeat is overdue, or when the job reports a failure. An alert reads like this:')}</p>
<blockquote>${alertExample}</blockquote>
<p>${renderText('The assignment of a provider decides when it is told. With `delay_seconds`, it gets an alert only if the outage lasts that long. With `remind_every_seconds`, it gets a reminder in this interval until the incident is resolved or acknowledged. This tells a second person after 10 minutes, and reminds them every hour. Set `MONITOR` and `PROVIDER` to their ids:')}</p>
${renderCode(`curl ${publicUrl}/api/monitors/$MONITOR/notifications \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"provider_id": '$PROVIDER', "delay_seconds": 600, "remind_every_seconds": 3600}'`)}
<p>This lists what is down now, of all monitors:</p>
${renderCode(`curl "${publicUrl}/api/incidents?status=open" \\
  -H "Authorization: Bearer $KEY"`)}
<p>${renderText('If you take care of an incident, acknowledge it. Nobody is told so, but reminders end, alerts that still wait for their delay are not sent, and `acknowledged_at` of the incident shows when. Whoever was told about the outage still gets the alert about the recovery. Set `INCIDENT` to its id:')}</p>
${renderCode(`curl -X POST ${publicUrl}/api/incidents/$INCIDENT/acknowledge \\
  -H "Authorization: Bearer $KEY"`)}
</section>
<section class="step" id="uptime">
<h2>Uptime and response times</h2>
<p>${renderText('Statistics have the uptime of a monitor, how many checks have failed, and the response times of the others, for a window from 24 hours to a year and for each hour or day in it. Only the time counts in which the monitor was observed: not before its first check, while it is paused or in maintenance, or while this service could not check it. Set `MONITOR` to the id of the monitor:')}</p>
${renderCode(`curl "${publicUrl}/api/monitors/$MONITOR/statistics?window=30d" \\
  -H "Authorization: Bearer $KEY"`)}
<p>${renderText('`GET /api/monitors/statistics` has the same for a page of monitors, with the filters and the order of the list of monitors. This shows how many monitors are up or down, and the uptime of all of them together:')}</p>
${renderCode(`curl ${publicUrl}/api/statistics \\
  -H "Authorization: Bearer $KEY"`)}
<p>${renderText('Single checks are kept for 48 hours. This lists those that have failed:')}</p>
${renderCode(`curl "${publicUrl}/api/monitors/$MONITOR/checks?outcome=down" \\
  -H "Authorization: Bearer $KEY"`)}
</section>
<section class="step" id="maintenance">
<h2>Maintenance</h2>
<p>${renderText('While you work on a server, set `maintenance_until` of its monitors. Checks go on, but no incident opens and no alert is sent. An open incident is resolved, also without an alert; only PagerDuty gets an event that resolves it there. If a check still fails after the end, a new incident opens, and you are alerted then. Set `MONITOR` to the id of the monitor, which is in the response to its creation:')}</p>
${renderCode(`${untilLine}
curl -X PUT ${publicUrl}/api/monitors/$MONITOR \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"maintenance_until": "'$until'"}'`)}
<p>${renderText('To end it earlier, set `maintenance_until` to null.')}</p>
</section>
<section class="step" id="many">
<h2>Many monitors</h2>
<p>${renderText('Tags group monitors. Lists can be filtered by `tag`, `website_id`, `status`, `type` and `search`, and one request can change all monitors that have a tag:')}</p>
${renderCode(`${untilLine}
curl ${publicUrl}/api/monitors/bulk \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"tag": "production", "action": "start_maintenance", "until": "'$until'"}'`)}
<p>${renderText('The other actions are `end_maintenance`, `pause`, `resume`, `delete`, `assign`, `unassign`, `add_tags` and `remove_tags`.')}</p>
</section>`,
  });
}

function renderRecipe({ id, title, before, monitor, after, script }: Recipe, publicUrl: string): Html {
  const paragraphs = (texts: string[]) => texts.map((text) => html`<p>${renderText(text)}</p>\n`);
  return html`<section class="step" id="${id}">
<h2>${title}</h2>
${paragraphs(before)}${renderCode(createCommand(publicUrl, monitor))}
${paragraphs(after)}${script ? renderCode(script(publicUrl)) : ''}</section>
`;
}

function renderCode(code: string): Html {
  return html`<div class="sample in-curl"><pre data-language="curl"><code>${code}</code></pre></div>`;
}

/** No recipe contains a single quotation mark, which would end the text of the shell. */
function createCommand(publicUrl: string, monitor: object): string {
  return `curl ${publicUrl}/api/monitors \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '${JSON.stringify(monitor, null, 2).replaceAll('\n', '\n  ')}'`;
}
