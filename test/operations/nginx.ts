// nginx on loopback in front of several processes, set up as an operator would.
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
  await writeFile(join(folder, 'nginx.conf'), settings(folder, port, ports));
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

/**
 * It learns of a stopped process only by being refused, and then asks the next one. A request that was sent already is
 * repeated only if it can be: one that changes something carries an Idempotency-Key. Connections rest for less than the 2
 * seconds in which a stopping process still answers. No server is left out after a failure: the next restart would find
 * both left out.
 */
function settings(folder: string, port: number, ports: number[]): string {
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
  upstream sitekeeper {
    ${ports.map((one) => `server 127.0.0.1:${one} max_fails=0;`).join('\n    ')}
    keepalive 32;
    keepalive_timeout 1s;
  }
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_connect_timeout 2s;
  server {
    listen 127.0.0.1:${port};
    error_page 418 = @repeatable;
    location / {
      if ($http_idempotency_key) { return 418; }
      proxy_pass http://sitekeeper;
    }
    location @repeatable {
      proxy_pass http://sitekeeper;
      proxy_next_upstream error timeout non_idempotent;
    }
  }
}
`;
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
