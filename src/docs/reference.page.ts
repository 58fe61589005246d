import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { swaggerUiFolder } from './static-assets.ts';

export const websitesPage = (): Html => referencePage('Website registry', 'websites', 'api/v1');
export const monitoringPage = (): Html => referencePage('Monitoring', 'monitoring', 'api');

/** The reference of one API in Swagger UI. */
function referencePage(title: string, name: string, basePath: string): Html {
  return layout({
    title,
    path: `/docs/${name}`,
    head: html`<link rel="stylesheet" href="${swaggerUiFolder}/swagger-ui.css">
<link rel="stylesheet" href="assets/reference.css">
<script defer src="${swaggerUiFolder}/swagger-ui-bundle.js"></script>
<script type="module" src="assets/reference.mjs"></script>
`,
    body: html`<p class="spec-links">OpenAPI document: <a href="../openapi/${name}.yaml">YAML</a> · <a href="../openapi/${name}.json">JSON</a>.
To try an operation, sign in above or enter an API key under “Authorize”. Every response has an <code>X-Request-Id</code> header and the
rate limit headers, which are not repeated below. Each <a href="problems">problem</a> is explained on its own page.</p>
<div id="reference" data-spec="../openapi/${name}.json" data-server="../${basePath}"><p>Loading the reference…</p></div>
<noscript><p>This page requires JavaScript. The OpenAPI document above has the same content.</p></noscript>`,
  });
}
