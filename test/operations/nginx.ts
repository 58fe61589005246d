// nginx on loopback in front of two processes, set up by deploy/nginx.conf.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface NginxProxy {
  url: string;
  /** What it has to complain about. */
  complaints(): Promise<string>;
  stop(): Promise<void>;
}

export function findNginx(): string | undefined {
  const places = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return places.map((folder) => join(folder, 'nginx')).find(isProgram);
}

function isProgram(file: string): boolean {
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
  await writeFile(join(folder, 'nginx.conf'), await settings(folder, port, ports));
  const child = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], { stdio: 'inherit' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100 && !(await answers(url)); tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    url,
    complaints: () => readFile(join(folder, 'error.log'), 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What operators use, without TLS and on ports of its own. */
async function settings(folder: string, port: number, ports: number[]): Promise<string> {
  const site = await readFile('deploy/nginx.conf', 'utf8');
  const changes: [RegExp, string][] = [
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
  ${changes.reduce(change, site)}
}
`;
}

function change(text: string, [what, by]: [RegExp, string]): string {
  if (text.search(what) < 0) throw new Error(`deploy/nginx.conf has no ${what}`);
  return text.replace(what, by);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const answers = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  );
