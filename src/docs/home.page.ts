import { type Html, html } from './html.ts';
import { renderPage } from './layout.ts';

export function renderHomePage(): Html {
  return renderPage({
    title: 'API documentation',
    path: '/docs',
    body: html`<section class="hero">
<h1>Monitor your websites</h1>
<p>Two HTTP APIs, one API key: register the websites whose traffic you track, monitor pages, APIs, hosts, ports and scheduled jobs,
and get an alert when one of them goes down.</p>
<p><a class="button" href="docs/getting-started">Get started</a></p>
</section>
<div class="cards">
<a class="card" href="docs/getting-started"><h2>Getting started</h2>
<p>From the first API key to the first alert, with curl, TypeScript or Python.</p></a>
<a class="card" href="docs/recipes"><h2>What can be monitored</h2>
<p>A recipe for each: login page, API with a token, GraphQL, certificate, database port, cron job, backup job.</p></a>
<a class="card" href="docs/websites"><h2>Website registry</h2>
<p>Reference for the API at <code>/api/v1</code>. You can try every operation on this server.</p></a>
<a class="card" href="docs/monitoring"><h2>Monitoring</h2>
<p>Reference for the API at <code>/api</code>: keys, monitors, incidents, providers and alerts. You can try every operation.</p></a>
<a class="card" href="docs/problems"><h2>Problems</h2>
<p>What each error means, when it occurs, and what to do about it.</p></a>
</div>
<section>
<h2>OpenAPI documents</h2>
<p>Both APIs are described in OpenAPI 3.0.3. Generate a client from the documents, or import them into your API tool.
The directory <code>generated/</code> in the Sitekeeper repository contains a TypeScript client, <code>@sitekeeper/client</code>, and a
collection for Postman, Bruno, Insomnia or Hoppscotch.</p>
<table>
<thead><tr><th>API</th><th>OpenAPI document</th></tr></thead>
<tbody>
<tr><td>Website registry</td><td><a href="openapi/websites.yaml">YAML</a> · <a href="openapi/websites.json">JSON</a></td></tr>
<tr><td>Monitoring</td><td><a href="openapi/monitoring.yaml">YAML</a> · <a href="openapi/monitoring.json">JSON</a></td></tr>
</tbody>
</table>
</section>`,
  });
}
