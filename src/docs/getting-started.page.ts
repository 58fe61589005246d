import { type Html, html, prose } from './html.ts';
import { layout } from './layout.ts';
import { languages, type Step, steps } from './samples.ts';

export function gettingStartedPage(publicUrl: string): Html {
  return layout({
    title: 'Getting started',
    path: '/docs/getting-started',
    body: html`<h1>Getting started</h1>
<p>From nothing to the first alert in ten minutes. Every sample below works when it is pasted; those in TypeScript and Python
need nothing but Node 22.18 or Python 3.</p>
<fieldset class="languages"><legend>Show samples in</legend>
${languages.map(
  ({ id, name }, index) => html`<label><input type="radio" name="language" id="in-${id}"${index === 0 ? checked : ''}> ${name}</label>\n`,
)}</fieldset>
${steps(publicUrl).map(section)}
<h2>Where to go from here</h2>
<ul>
<li>The references of the <a href="websites">website registry</a> and of <a href="monitoring">monitoring</a> say what else there is, and let you try it.</li>
<li>Something was refused? The problem's <code>type</code> leads to <a href="problems">the page that explains it</a>.</li>
<li>Make a client in your own language from the <a href="../openapi/websites.yaml">specifications</a> <a href="../openapi/monitoring.yaml">of both APIs</a>.
For TypeScript there is one: the package <code>@sitekeeper/client</code> in <code>generated/client</code> of Sitekeeper's repository.</li>
<li>Rather click than write? <code>generated/sitekeeper.postman_collection.json</code> there is for Postman, Bruno, Insomnia or Hoppscotch:
set <code>baseUrl</code> and <code>apiKey</code>.</li>
</ul>`,
  });
}

const checked = html` checked`;

function section({ id, title, before, samples, after }: Step, index: number): Html {
  return html`<section class="step" id="${id}">
<h2><span class="number">${index + 1}</span> ${title}</h2>
${before.map((text) => html`<p>${prose(text)}</p>\n`)}
${languages.map(
  (language) => html`<div class="sample in-${language.id}"><p class="caption">${language.caption}</p>
<pre data-language="${language.id}"><code>${samples[language.id]}</code></pre></div>
`,
)}${after.map((text) => html`<p>${prose(text)}</p>\n`)}</section>
`;
}
