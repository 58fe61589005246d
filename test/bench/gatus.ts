// Gatus, a monitoring service in one process, to compare the engine with.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { collectOutput, inheritedVariables, type RunningProcess } from '../support/process.ts';

export const gatusVersion = 'v5.35.0';
/** Gatus starts its checks one after the other, with this pause in between. */
export const gatusStartMs = 222;

const program = 'github.com/TwiN/gatus/v5';

/** Builds Gatus, once per machine. Returns its path, or undefined where Go is absent. */
export async function installGatus(): Promise<string | undefined> {
  const folder = join(tmpdir(), `sitekeeper-bench-gatus-${gatusVersion}`);
  const path = join(folder, 'gatus');
  if (existsSync(path)) return path;
  const go = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/go/bin'].map((bin) => join(bin, 'go')).find(existsSync);
  if (!go) return undefined;
  console.error(`building Gatus ${gatusVersion} …`);
  // With a go.mod, a proxy of modules needs to offer nothing but this version. With the version of Go it loads only what is built.
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'go.mod'), `module bench\n\ngo 1.25.5\n\nrequire ${program} ${gatusVersion}\n`);
  await promisify(execFile)(go, ['install', '-mod=mod', program], { cwd: folder, env: { ...process.env, GOBIN: folder } });
  return path;
}

export interface GatusSettings {
  port: number;
  monitors: { name: string; url: string }[];
  alertUrl: string;
}

/** Starts Gatus with its defaults: it stores results in memory, and three checks run at once. */
export async function startGatus(path: string, folder: string, { port, monitors, alertUrl }: GatusSettings): Promise<RunningProcess> {
  const config = {
    web: { address: '127.0.0.1', port },
    alerting: { custom: { url: alertUrl, method: 'POST', body: '[ENDPOINT_NAME]', client: { insecure: true } } },
    endpoints: monitors.map((monitor) => ({
      ...monitor,
      interval: '60s',
      conditions: ['[STATUS] == 200'],
      alerts: [{ type: 'custom', 'failure-threshold': 3 }],
    })),
  };
  const file = join(folder, 'gatus.yaml');
  await writeFile(file, JSON.stringify(config)); // JSON is YAML.
  return collectOutput(spawn(path, { cwd: folder, env: { ...inheritedVariables(), GATUS_CONFIG_PATH: file } }));
}
