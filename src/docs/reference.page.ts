import { type Html, html } from './html.ts';
import { renderPage } from './layout.ts';
import { swaggerUiPath } from './static-assets.ts';

export const renderWebsitesPage = (): Html => renderReferencePage('Website registry', 'websites', 'api/v1');
export const renderMonitoringPage = (): Html => renderReferencePage('Monitoring', 'monitoring', 'api');

/** Renders the reference page for one API, which Swagger UI fills in. */
function renderReferencePage(title: string, name: string, basePath: string): Html {
  return renderPage({
    title,
    path: `/docs/${name}`,
    head: html`<link rel="stylesheet" href="${swaggerUiPath}/swagger-ui.css">
<link rel="stylesheet" href="assets/reference.css">
<script defer src="${swaggerUiPath}/swagger-ui-bundle.js"></script>
<script type="module" src="assets/reference.mjs"></script>
`,
    body: html`<p class="spec-links">OpenAPI document: <a href="../openapi/${name}.yaml">YAML</a> · <a href="../openapi/${name}.json">JSON</a>.
To try an operation, sign in above or enter an API key under “Authorize”. Every response also has an <code>X-Request-Id</code>
header and the rate limit headers, which are omitted below. Each <a href="problems">problem</a> is explained on its own page.</p>
<div id="reference" data-spec="../openapi/${name}.json" data-server="../${basePath}"><p>Loading the reference…</p></div>
<noscript><p>This page requires JavaScript. The OpenAPI document above has the same content.</p></noscript>`,
  });
}
