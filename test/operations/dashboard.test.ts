import { readFileSync } from 'node:fs';
import type { MetricObject } from 'prom-client';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { collectMetrics } from '../../src/runtime/telemetry.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createDatabase } from '../support/database.ts';

const database = await createDatabase();
const metrics = createMetrics();
collectMetrics(metrics, database);
afterAll(() => database.close());
/** What Prometheus finds on /metrics: the names of the samples, and the labels of each. */
const known = new Map(metrics.registry.getMetricsAsArray().flatMap(samplesOf));
known.set('up', []); // Prometheus's own

/** What Prometheus adds, and what a histogram has besides. */
const labelsOfAll = ['job', 'instance', 'le'];

function samplesOf(metric: MetricObject & { labelNames?: string[] }): [string, string[]][] {
  const { name, type, labelNames = [] } = metric;
  const endings = { histogram: ['_bucket', '_sum', '_count'], summary: ['', '_sum', '_count'] }[String(type)] ?? [''];
  return endings.map((ending) => [name + ending, labelNames]);
}

/** Every expression of a parsed file, wherever it stands. */
function expressionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'expr' in value ? [String(value.expr)] : [];
  return [...own, ...Object.values(value).flatMap(expressionsIn)];
}

const quoted = /"[^"]*"/g;
const labelLists = /\b(?:by|without)\s*\(([^)]*)\)|\{([^}]*)\}/g;

/** What is neither a function, nor an operator, nor a label, nor a length of time, is the name of a metric. */
function namesIn(expression: string): string[] {
  const bare = expression
    .replace(quoted, '')
    .replace(labelLists, ' ')
    .replace(/\[[^\]]*\]/g, ' ');
  return bare.match(/\b(?!or\b)[a-z_]\w*\b(?!\s*\()/g) ?? [];
}

function labelsIn(expression: string): string[] {
  const lists = [...expression.replace(quoted, '').matchAll(labelLists)].map(([, grouped, matched]) => grouped ?? matched ?? '');
  return lists.flatMap((list) => list.match(/\w+/g) ?? []);
}

test.each([
  ['the dashboard', 'deploy/grafana-dashboard.json', 20],
  ['the alerting rules', 'deploy/sitekeeper-alerts.yml', 8],
])('%s asks only for metrics and labels that a process shows', (_, file, atLeast) => {
  const expressions = expressionsIn(parse(readFileSync(file, 'utf8')));
  expect(expressions.length).toBeGreaterThan(atLeast);
  for (const expression of expressions) {
    const names = namesIn(expression);
    expect(names, expression).not.toEqual([]);
    for (const name of names) expect([...known.keys()], expression).toContain(name);
    const labels = names.flatMap((name) => known.get(name) ?? []);
    for (const label of labelsIn(expression)) expect([...labelsOfAll, ...labels], expression).toContain(label);
  }
});

test('every alerting rule is one that Prometheus takes, and says something', () => {
  const { groups } = parse(readFileSync('deploy/sitekeeper-alerts.yml', 'utf8')) as { groups: { rules: { annotations: object }[] }[] };
  const rules = groups.flatMap(({ rules }) => rules);
  expect(rules).not.toEqual([]);
  // A comma in a summary without quotes would end it, and begin an annotation that Prometheus refuses.
  for (const { annotations } of rules) expect(annotations).toEqual({ summary: expect.stringMatching(/\.$/) });
});

test('the dashboard shows every metric of our own', () => {
  const shown = expressionsIn(parse(readFileSync('deploy/grafana-dashboard.json', 'utf8')))
    .flatMap(namesIn)
    .join(' ');
  const own = metrics.registry.getMetricsAsArray().map(({ name }) => name);
  for (const name of own.filter((name) => name.startsWith('sitekeeper_'))) expect(shown).toContain(name);
});
