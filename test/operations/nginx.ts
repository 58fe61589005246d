// nginx on loopback in front of two processes, configured by deploy/nginx.conf.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';

export interface NginxProxy {
  url: string;
  /** Returns the error log. */
  readErrorLog(): Promise<string>;
  stop(): Promise<void>;
}

export function findNginx(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, 'nginx')).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export async function startNginx(program: string, ports: number[]): Promise<NginxProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-nginx-'));
  const port = await freePort();
  await writeFile(join(folder, 'nginx.conf'), await createConfig(folder, port, ports));
  const child = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], { stdio: 'inherit' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100 && !(await isListening(url)); tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    url,
    readErrorLog: () => readFile(join(folder, 'error.log'), 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the operators' configuration without TLS and with free ports. */
async function createConfig(folder: string, port: number, ports: number[]): Promise<string> {
  const site = await readFile('deploy/nginx.conf', 'utf8');
  const replacements: [RegExp, string][] = [
    [/127\.0\.0\.1:3000/, `127.0.0.1:${ports[0]}`],
    [/127\.0\.0\.1:3001/, `127.0.0.1:${ports[1]}`],
    [/listen \[::\]:.*/g, ''],
    [/listen 80;/, `listen unix:${folder}/plain;`],
    [/listen 443 ssl http2;/, `listen 127.0.0.1:${port};`],
    [/ssl_.*/g, ''],
  ];
  return `
daemon off;
pid ${folder}/pid;
worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  ${replacements.reduce(replaceExisting, site)}
}
`;
}

function replaceExisting(text: string, [pattern, replacement]: [RegExp, string]): string {
  if (text.search(pattern) < 0) throw new Error(`deploy/nginx.conf contains no ${pattern}`);
  return text.replace(pattern, replacement);
}

const isListening = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  );
