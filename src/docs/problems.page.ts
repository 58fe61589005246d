import type { ProblemCode } from '../errors.ts';
import { problems } from '../http/problems.ts';
import { type Content, htmlContent } from './content.ts';
import { type Html, html, prose } from './html.ts';
import { layout } from './layout.ts';
import { explanations } from './problem-explanations.ts';

/** A page for the `type` of every problem, and one that lists them. */
export function problemPages(publicUrl: string): [path: string, Content][] {
  return [
    ['/docs/problems', htmlContent(() => indexPage(publicUrl))],
    ...codes.map((code): [string, Content] => [`/docs/problems/${code}`, htmlContent(() => problemPage(code))]),
  ];
}

const codes = Object.keys(problems) as ProblemCode[];

function indexPage(publicUrl: string): Html {
  const row = (code: ProblemCode) => html`<tr><td>${status(code)}</td>
<td><a href="problems/${code}"><code>${code}</code></a></td><td>${problems[code].title}</td></tr>
`;
  const example = {
    type: `${publicUrl}/docs/problems/validation_failed`,
    title: problems.validation_failed.title,
    status: 422,
    detail: 'The request has 1 fault: /interval must be at least 30.',
    instance: '/api/monitors',
    code: 'validation_failed',
    request_id: 'f3b1c2d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d',
    errors: [{ in: 'body', pointer: '/interval', code: 'minimum', message: 'must be at least 30' }],
  };
  return layout({
    title: 'Problems',
    path: '/docs/problems',
    body: html`<h1>Problems</h1>
<p>Every error of both APIs is <code>application/problem+json</code> (RFC 9457). Programs look at <code>code</code>, which stays as it is;
people read <code>detail</code>, and the page that <code>type</code> leads to. The <code>request_id</code> leads the operator to the log.</p>
<div class="sample"><p class="caption">A problem</p><pre><code>${JSON.stringify(example, undefined, 2)}</code></pre></div>
<h2>All of them</h2>
<table class="problems">
<thead><tr><th>Status</th><th>Code</th><th>Title</th></tr></thead>
<tbody>
${codes.map(row)}</tbody>
</table>`,
  });
}

function problemPage(code: ProblemCode): Html {
  const { meaning, remedies } = explanations[code];
  return layout({
    title: problems[code].title,
    path: `/docs/problems/${code}`,
    body: html`<p class="crumb"><a href="../problems">Problems</a></p>
<h1>${problems[code].title}</h1>
<p class="facts">${status(code)} <code>${code}</code></p>
<h2>What it means, and when it comes</h2>
<p>${prose(meaning)}</p>
<h2>What to do</h2>
<ul>
${remedies.map((remedy) => html`<li>${prose(remedy)}</li>\n`)}</ul>`,
  });
}

function status(code: ProblemCode): Html {
  const number = problems[code].status;
  return html`<span class="status s${Math.floor(number / 100)}">${number}</span>`;
}
