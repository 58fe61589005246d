import { expect, test } from 'vitest';
import { Html, html, renderText } from '../../src/docs/html.ts';

const hostile = `<script title="a" id='b'>&amp;`;
const escaped = '&lt;script title=&quot;a&quot; id=&#39;b&#39;&gt;&amp;amp;';

test('escapes values, but neither the template nor markup', () => {
  expect(html`<p>${hostile}${7}${new Html('<br>')}${[html`<i>${hostile}</i>`]}</p>`.markup).toBe(`<p>${escaped}7<br><i>${escaped}</i></p>`);
});

test('escapes text, and turns text in backticks into code', () => {
  expect(renderText(`${hostile} and \`<b>\``).markup).toBe(`${escaped} and <code>&lt;b&gt;</code>`);
});

test('writes the items of a list one after the other', () => {
  expect(html`<ul>${['a', 'b'].map((item) => html`<li>${item}</li>`)}</ul>`.markup).toBe('<ul><li>a</li><li>b</li></ul>');
});
