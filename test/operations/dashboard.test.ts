// The dashboard and the alerting rules use only metrics that exist.
import { readFileSync } from 'node:fs';
import type { MetricObject } from 'prom-client';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { registerMetrics } from '../../src/runtime/telemetry.ts';
import { createMetrics, registerRedisMetric } from '../../src/telemetry/metrics.ts';
import { createDatabase } from '../support/database.ts';

const database = await createDatabase();
const metrics = createMetrics();
registerMetrics(metrics, database);
registerRedisMetric(metrics, () => true);
afterAll(() => database.close());
/** The names of the samples on /metrics, with the labels of each. */
const knownSamples = new Map(metrics.registry.getMetricsAsArray().flatMap(samplesOf));
knownSamples.set('up', []); // Prometheus itself records this one.

/** Prometheus adds the first two to every sample. The last one is the upper bound of a histogram's bucket. */
const commonLabels = ['job', 'instance', 'le'];

function samplesOf(metric: MetricObject & { labelNames?: string[] }): [string, string[]][] {
  const { name, type, labelNames = [] } = metric;
  const suffixes = { histogram: ['_bucket', '_sum', '_count'], summary: ['', '_sum', '_count'] }[String(type)] ?? [''];
  return suffixes.map((suffix) => [name + suffix, labelNames]);
}

/** Returns every PromQL expression of a parsed file, at any depth. */
function expressionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'expr' in value ? [String(value.expr)] : [];
  return [...own, ...Object.values(value).flatMap(expressionsIn)];
}

const quoted = /"[^"]*"/g;
const labelLists = /\b(?:by|without)\s*\(([^)]*)\)|\{([^}]*)\}/g;

/** A word that is not a function, an operator, a label or a duration is the name of a sample. */
function sampleNamesIn(expression: string): string[] {
  const bare = expression
    .replace(quoted, '')
    .replace(labelLists, ' ')
    .replace(/\[[^\]]*\]/g, ' ');
  return bare.match(/\b(?!(?:or|unless)\b)[a-z_]\w*\b(?!\s*\()/g) ?? [];
}

function labelsIn(expression: string): string[] {
  const lists = [...expression.replace(quoted, '').matchAll(labelLists)].map(([, grouped, matched]) => grouped ?? matched ?? '');
  return lists.flatMap((list) => list.match(/\w+/g) ?? []);
}

test.each([
  ['the dashboard', 'deploy/grafana-dashboard.json', 20],
  ['the alerting rules', 'deploy/sitekeeper-alerts.yml', 8],
])('%s uses only metrics and labels that exist', (_, file, minimum) => {
  const expressions = expressionsIn(parse(readFileSync(file, 'utf8')));
  expect(expressions.length).toBeGreaterThan(minimum);
  for (const expression of expressions) {
    const names = sampleNamesIn(expression);
    expect(names, expression).not.toEqual([]);
    for (const name of names) expect([...knownSamples.keys()], expression).toContain(name);
    const labels = names.flatMap((name) => knownSamples.get(name) ?? []);
    for (const label of labelsIn(expression)) expect([...commonLabels, ...labels], expression).toContain(label);
  }
});

const { groups } = parse(readFileSync('deploy/sitekeeper-alerts.yml', 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap(({ rules }) => rules);

interface Rule {
  alert: string;
  labels: object;
  annotations: object;
}

test('every alerting rule has a severity, a summary and no other annotation', () => {
  expect(rules).not.toEqual([]);
  for (const { labels, annotations } of rules) {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) });
    // A comma in a summary without quotes ends it and starts another annotation, which Prometheus would reject.
    expect(annotations).toEqual({ summary: expect.stringMatching(/\.$/) });
  }
});

test('every alerting rule has a section in the docs, and is tested to fire and not to fire', () => {
  const documented = readFileSync('docs/monitoring.md', 'utf8').match(/(?<=^### )Sitekeeper\w+$/gm);
  expect(documented?.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  const { tests } = parse(readFileSync('test/operations/alerting-rules.yml', 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const cases = tests.flatMap((test) => test.alert_rule_test);
  for (const { alert } of rules) {
    const outcomes = cases.filter(({ alertname }) => alertname === alert).map(({ exp_alerts }) => exp_alerts.length > 0);
    expect([alert, new Set(outcomes)]).toEqual([alert, new Set([true, false])]);
  }
});

test('the dashboard shows every metric that starts with sitekeeper_', () => {
  const shown = expressionsIn(parse(readFileSync('deploy/grafana-dashboard.json', 'utf8')))
    .flatMap(sampleNamesIn)
    .join(' ');
  const own = metrics.registry.getMetricsAsArray().map(({ name }) => name);
  for (const name of own.filter((name) => name.startsWith('sitekeeper_'))) expect(shown).toContain(name);
});
