import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export function homePage(): Html {
  return layout({
    title: 'API documentation',
    path: '/docs',
    body: html`<section class="hero">
<h1>Keep watch over your websites</h1>
<p>Two HTTP APIs, one key: register the websites whose traffic you track, have addresses checked, and be told when one of
them goes down.</p>
<p><a class="button" href="docs/getting-started">Get started</a></p>
</section>
<div class="cards">
<a class="card" href="docs/getting-started"><h2>Getting started</h2>
<p>First key, first website, first monitor, first alert: in curl, TypeScript and Python.</p></a>
<a class="card" href="docs/websites"><h2>Website registry</h2>
<p>Every operation under <code>/api/v1</code>, to read and to try against this server.</p></a>
<a class="card" href="docs/monitoring"><h2>Monitoring</h2>
<p>Keys, monitors, incidents, providers and alerts under <code>/api</code>, to read and to try.</p></a>
<a class="card" href="docs/problems"><h2>Problems</h2>
<p>What each error means, when it comes, and what to do about it.</p></a>
</div>
<section>
<h2>The contract</h2>
<p>Both APIs are described in OpenAPI 3.0.3. Make a client of your own from it, or import it into your API tool.
Ready-made, in <code>generated/</code> of Sitekeeper's repository: <code>@sitekeeper/client</code>, a client for TypeScript, and a
collection for Postman, Bruno, Insomnia or Hoppscotch.</p>
<table>
<thead><tr><th>API</th><th>Specification</th></tr></thead>
<tbody>
<tr><td>Website registry</td><td><a href="openapi/websites.yaml">YAML</a> · <a href="openapi/websites.json">JSON</a></td></tr>
<tr><td>Monitoring</td><td><a href="openapi/monitoring.yaml">YAML</a> · <a href="openapi/monitoring.json">JSON</a></td></tr>
</tbody>
</table>
</section>`,
  });
}
