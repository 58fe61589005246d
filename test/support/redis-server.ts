import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A separate Redis server, which a test can stop or suspend. */
export interface RedisServer {
  /** Suspends it. Its port still accepts connections, because the operating system does that. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export async function startRedis(port: number): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-redis-'));
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', ''];
  // Redis hangs with the library that .ci/in-years preloads.
  const server = spawn('redis-server', args, { stdio: 'pipe', env: { ...process.env, LD_PRELOAD: '' } });
  await new Promise<void>((resolve) => server.stdout.on('data', (data) => String(data).includes('Ready to accept') && resolve()));
  return {
    freeze: () => server.kill('SIGSTOP'),
    thaw: () => server.kill('SIGCONT'),
    async stop() {
      server.kill('SIGCONT');
      server.kill('SIGTERM');
      await new Promise((resolve) => server.on('close', resolve));
      await rm(folder, { recursive: true });
    },
  };
}
