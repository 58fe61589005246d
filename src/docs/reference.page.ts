import { swaggerUi } from './assets.ts';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export const websitesPage = (): Html => referencePage('Website registry', 'websites', 'api/v1');
export const monitoringPage = (): Html => referencePage('Monitoring', 'monitoring', 'api');

/** One API, read and tried in Swagger UI. */
function referencePage(title: string, name: string, apiRoot: string): Html {
  return layout({
    title,
    path: `/docs/${name}`,
    head: html`<link rel="stylesheet" href="${swaggerUi}/swagger-ui.css">
<link rel="stylesheet" href="assets/reference.css">
<script defer src="${swaggerUi}/swagger-ui-bundle.js"></script>
<script type="module" src="assets/reference.mjs"></script>
`,
    body: html`<p class="spec-links">Specification: <a href="../openapi/${name}.yaml">YAML</a> · <a href="../openapi/${name}.json">JSON</a>.
To try an operation, sign in above or give a key under “Authorize”. Every answer carries <code>X-Request-Id</code> and the headers of the
rate limit; <a href="problems">problems</a> are explained on their own pages.</p>
<div id="reference" data-spec="../openapi/${name}.json" data-server="../${apiRoot}"><p class="loading">Loading the reference …</p></div>
<noscript><p>This page needs JavaScript. The specification above says the same.</p></noscript>`,
  });
}
