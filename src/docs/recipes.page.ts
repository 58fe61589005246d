import { type Html, html, renderText } from './html.ts';
import { renderPage } from './layout.ts';
import { type Recipe, recipes } from './recipes.ts';

export function renderRecipesPage(publicUrl: string): Html {
  return renderPage({
    title: 'What can be monitored',
    path: '/docs/recipes',
    body: html`<h1>What can be monitored</h1>
<p>Pages, APIs, certificates, ports, hosts, and jobs that run on a schedule. Each recipe creates one monitor: replace the names and
addresses by yours, and set <code>KEY</code> to an API key with the scope <code>monitors:write</code>. All fields are in the
<a href="monitoring">API reference</a>. To get alerts, assign a provider to the monitor, as in <a href="getting-started#first-alert">Getting
started</a>.</p>
<ul>
${recipes.map(({ id, title }) => html`<li><a href="recipes#${id}">${title}</a></li>\n`)}<li><a href="recipes#maintenance">Maintenance</a></li>
<li><a href="recipes#many">Many monitors</a></li>
</ul>
${recipes.map((recipe) => renderRecipe(recipe, publicUrl))}
<section class="step" id="maintenance">
<h2>Maintenance</h2>
<p>${renderText('While you work on a server, set `maintenance_until` of its monitors. Checks go on, but no incident opens and no alert is sent. If a check still fails after the end, you are alerted then.')}</p>
${renderCode(`curl -X PUT ${publicUrl}/api/monitors/5 \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"maintenance_until": "2099-12-31T23:00:00Z"}'`)}
</section>
<section class="step" id="many">
<h2>Many monitors</h2>
<p>${renderText('Tags group monitors. Lists can be filtered by `tag`, `website_id`, `status`, `type` and `search`, and one request can change all monitors that have a tag:')}</p>
${renderCode(`curl ${publicUrl}/api/monitors/bulk \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"tag": "production", "action": "start_maintenance", "until": "2099-12-31T23:00:00Z"}'`)}
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

/** A single quotation mark would end the text of the shell. */
function createCommand(publicUrl: string, monitor: object): string {
  const body = JSON.stringify(monitor, null, 2).replaceAll("'", `'"'"'`);
  return `curl ${publicUrl}/api/monitors \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '${body.replaceAll('\n', '\n  ')}'`;
}
