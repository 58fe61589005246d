import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const entry = join(import.meta.dirname, '../../src/cli/bin.mjs');

/** Measures the seconds from the start of the process to its first response. */
export async function measureStarts(): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-starts-'));
  const env = { PORT: '0', DATA_DIR: join(folder, 'data') };
  try {
    return {
      'first start in an empty folder': await secondsToResponse([], env, '/readyz'),
      'warm start': await secondsToResponse([], env, '/readyz'),
      'start of the mock': await secondsToResponse(['mock', '--port', '0'], {}, '/api/v1/websites'),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function secondsToResponse(args: string[], env: Record<string, string>, path: string): Promise<number> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [entry, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let printed = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    printed += chunk;
    const [, url] = /[Ll]istening on (http:\/\/[^"\s]+?)\.?["\s]/.exec(printed) ?? [];
    if (!url) continue;
    await (await fetch(url + path, { headers: { Authorization: 'Bearer any' } })).text();
    break;
  }
  const seconds = (performance.now() - startMs) / 1000;
  child.kill('SIGINT');
  await exited;
  return seconds;
}
