import type { ProblemCode } from '../errors.ts';
import { problems } from '../http/problems.ts';
import { type Asset, createHtmlAsset } from './asset-store.ts';
import { type Html, html, renderText } from './html.ts';
import { renderPage } from './layout.ts';
import { explanations } from './problem-explanations.ts';

/** Creates one page for each problem, which is the target of its `type`, and one that lists them all. */
export function createProblemAssets(publicUrl: string): [path: string, Asset][] {
  return [
    ['/docs/problems', createHtmlAsset(() => renderProblemList(publicUrl))],
    ...codes.map((code): [string, Asset] => [`/docs/problems/${code}`, createHtmlAsset(() => renderProblemPage(code))]),
  ];
}

const codes = Object.keys(problems) as ProblemCode[];

function renderProblemList(publicUrl: string): Html {
  const row = (code: ProblemCode) => html`<tr><td>${renderStatusBadge(code)}</td>
<td><a href="problems/${code}"><code>${code}</code></a></td><td>${problems[code].title}</td></tr>
`;
  const example = {
    type: `${publicUrl}/docs/problems/validation_failed`,
    title: problems.validation_failed.title,
    status: 422,
    detail: 'The request has 1 validation error: /interval must be at least 30.',
    instance: '/api/monitors',
    code: 'validation_failed',
    request_id: 'f3b1c2d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d',
    errors: [{ in: 'body', pointer: '/interval', code: 'minimum', message: 'must be at least 30' }],
  };
  return renderPage({
    title: 'Problems',
    path: '/docs/problems',
    body: html`<h1>Problems</h1>
<p>Both APIs return errors as <code>application/problem+json</code> (RFC 9457). <code>code</code> is stable and machine-readable.
<code>detail</code> is human-readable. <code>type</code> is the URL of the page that explains the problem. With the
<code>request_id</code>, the operator can find the request in the log.</p>
<div class="sample"><p class="caption">Example</p><pre><code>${JSON.stringify(example, undefined, 2)}</code></pre></div>
<h2>All problems</h2>
<table>
<thead><tr><th>Status</th><th>Code</th><th>Title</th></tr></thead>
<tbody>
${codes.map(row)}</tbody>
</table>`,
  });
}

function renderProblemPage(code: ProblemCode): Html {
  const { meaning, remedies } = explanations[code];
  return renderPage({
    title: problems[code].title,
    path: `/docs/problems/${code}`,
    body: html`<p class="crumb"><a href="../problems">Problems</a></p>
<h1>${problems[code].title}</h1>
<p>${renderStatusBadge(code)} <code>${code}</code></p>
<h2>What it means</h2>
<p>${renderText(meaning)}</p>
<h2>What to do</h2>
<ul>
${remedies.map((remedy) => html`<li>${renderText(remedy)}</li>\n`)}</ul>`,
  });
}

function renderStatusBadge(code: ProblemCode): Html {
  const { status } = problems[code];
  return html`<span class="status s${Math.floor(status / 100)}">${status}</span>`;
}
