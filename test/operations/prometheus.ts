// Prometheus on loopback, configured by deploy/prometheus.yml and deploy/sitekeeper-alerts.yml.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { collectOutput } from '../support/process.ts';

export interface Prometheus {
  /** The state of each alert that is not inactive, by name. */
  alerts(): Promise<Record<string, 'pending' | 'firing'>>;
  /** The current value of an expression, or undefined if there is none. */
  query(expression: string): Promise<number | undefined>;
  stop(): Promise<void>;
}

export function findPrometheus(): string | undefined {
  return (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, 'prometheus'))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

interface Targets {
  serve: string[];
  worker: string[];
}

/**
 * Runs the operators' configuration with other ports, and faster: it scrapes every second, and a minute of a rule takes two
 * seconds. `thresholds` replaces parts of the rules.
 */
export async function startPrometheus(program: string, targets: Targets, thresholds: [string, string][]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-prometheus-'));
  const config = parse(await readFile('deploy/prometheus.yml', 'utf8'));
  config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
  const [job] = config.scrape_configs;
  delete job.authorization;
  for (const { targets: replaced, labels } of job.static_configs)
    replaced.splice(0, replaced.length, ...targets[labels.role as keyof Targets]);
  config.alerting.alertmanagers = []; // There is no Alertmanager here.
  await writeFile(join(folder, 'prometheus.yml'), stringify(config));
  let rules = await readFile('deploy/sitekeeper-alerts.yml', 'utf8');
  for (const [from, to] of thresholds) {
    if (!rules.includes(from)) throw new Error(`deploy/sitekeeper-alerts.yml does not contain ${from}`);
    rules = rules.replaceAll(from, to);
  }
  await writeFile(
    join(folder, 'sitekeeper-alerts.yml'),
    rules.replace(/(?<=for: |\[)(\d+)m/g, (_, minutes) => `${Number(minutes) * 2}s`),
  );
  const { child, printed, ended } = collectOutput(
    spawn(program, [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
    ]),
  );
  const url = await waitForUrl(printed);
  const get = async <Data>(path: string) => ((await (await fetch(`${url}/api/v1/${path}`)).json()) as { data: Data }).data;
  return {
    async alerts() {
      const { alerts } = await get<{ alerts: { labels: { alertname: string }; state: 'pending' | 'firing' }[] }>('alerts');
      return Object.fromEntries(alerts.map(({ labels, state }) => [labels.alertname, state]));
    },
    async query(expression) {
      const { result } = await get<{ result: { value: [number, string] }[] }>(`query?query=${encodeURIComponent(expression)}`);
      return result[0] && Number(result[0].value[1]);
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function waitForUrl(printed: () => string): Promise<string> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const [, address] = /Listening on" address=(\S+)/.exec(printed()) ?? [];
    if (address && printed().includes('Server is ready to receive web requests')) return `http://${address}`;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Prometheus did not start:\n${printed()}`);
}
