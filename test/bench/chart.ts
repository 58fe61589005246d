import type { Result } from './bench.ts';

const [width, left, barHeight, gap] = [760, 215, 11, 14];
const bars = [
  { name: 'ours', title: 'Sitekeeper', colour: '#2f7d5b' },
  { name: 'fastify', title: 'Fastify', colour: '#8a94a6' },
  { name: 'express', title: 'Express', colour: '#c4cad4' },
];

/** Draws requests per second relative to the baseline, with one group of bars per scenario. */
export function chart(results: Result[]): string {
  const scale =
    (width - left - 60) / Math.max(1, ...results.flatMap(({ measured }) => bars.map(({ name }) => relativeRate(measured, name) ?? 0)));
  let y = 46;
  const groups = results.map(({ scenario, measured }) => {
    const drawn = bars.filter(({ name }) => measured[name]);
    const middle = y + (drawn.length * barHeight) / 2;
    const lines = [`<text x="${left - 10}" y="${middle + 4}" text-anchor="end">${scenario}</text>`];
    for (const { name, colour } of drawn) {
      const value = relativeRate(measured, name) ?? 0;
      lines.push(`<rect x="${left}" y="${y}" width="${(value * scale).toFixed(1)}" height="${barHeight - 2}" fill="${colour}"/>`);
      lines.push(`<text class="small" x="${(left + value * scale + 5).toFixed(1)}" y="${y + barHeight - 3}">${value.toFixed(2)}</text>`);
      y += barHeight;
    }
    y += gap;
    return lines.join('\n');
  });
  const limit = left + scale;
  const legend = bars.map(
    ({ title, colour }, index) =>
      `<rect x="${left + index * 100}" y="12" width="10" height="10" fill="${colour}"/><text x="${left + 15 + index * 100}" y="21">${title}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 10}" font-family="system-ui, sans-serif" font-size="12">
<title>Requests per second relative to the baseline, a bare node:http server with one prepared statement</title>
<style>
  text { fill: #24292f } .small { font-size: 9px }
  @media (prefers-color-scheme: dark) { text { fill: #d0d7de } }
</style>
${legend.join('\n')}
<text x="${limit}" y="21" text-anchor="middle">baseline</text>
<line x1="${limit}" y1="30" x2="${limit}" y2="${y}" stroke="#b3541e" stroke-dasharray="3 3"/>
${groups.join('\n')}
</svg>
`;
}

function relativeRate(measured: Result['measured'], name: string): number | undefined {
  const [contender, limit] = [measured[name], measured.limit];
  return contender && limit ? contender.perSecond / limit.perSecond : undefined;
}
