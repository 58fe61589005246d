import { type Html, html, renderText } from './html.ts';
import { renderPage } from './layout.ts';
import { createSteps, languages, type Step } from './samples.ts';

export function renderGettingStartedPage(publicUrl: string): Html {
  return renderPage({
    title: 'Getting started',
    path: '/docs/getting-started',
    body: html`<h1>Getting started</h1>
<p>Set up your first alert in ten minutes. You can copy and run every sample as it is. The TypeScript samples need only Node 22.18
or newer, the Python samples only Python 3.</p>
<fieldset class="languages"><legend>Show samples in</legend>
${languages.map(
  ({ id, name }, index) => html`<label><input type="radio" name="language" id="in-${id}"${index === 0 ? checked : ''}> ${name}</label>\n`,
)}</fieldset>
${createSteps(publicUrl).map(renderStep)}
<h2>Next steps</h2>
<ul>
<li>Find a recipe for what you want to monitor: <a href="recipes">what can be monitored</a>.</li>
<li>See every operation in the API reference: <a href="websites">website registry</a>, <a href="monitoring">monitoring</a>. You can try each one there.</li>
<li>If a request is rejected, the <code>type</code> of the problem is the URL of a page that explains it. There is a <a href="problems">list of all problems</a>.</li>
<li>Generate a client in your language from the OpenAPI documents: <a href="../openapi/websites.yaml">website registry</a>,
<a href="../openapi/monitoring.yaml">monitoring</a>. For TypeScript, use the package <code>@sitekeeper/client</code> in
<code>generated/client</code> in the Sitekeeper repository.</li>
<li>To send requests from Postman, Bruno, Insomnia or Hoppscotch, import <code>generated/sitekeeper.postman_collection.json</code> from
the same repository and set <code>baseUrl</code> and <code>apiKey</code>.</li>
</ul>`,
  });
}

const checked = html` checked`;

function renderStep({ id, title, before, samples, after }: Step, index: number): Html {
  return html`<section class="step" id="${id}">
<h2><span class="number">${index + 1}</span> ${title}</h2>
${before.map((text) => html`<p>${renderText(text)}</p>\n`)}
${languages.map(
  (language) => html`<div class="sample in-${language.id}"><p class="caption">${language.caption}</p>
<pre data-language="${language.id}"><code>${samples[language.id]}</code></pre></div>
`,
)}${after.map((text) => html`<p>${renderText(text)}</p>\n`)}</section>
`;
}
