import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { generateKey } from '../../../src/auth/api-key.ts';
import { ApiClient } from '../../support/api-client.ts';
import { listening, type Running, run } from '../../support/process.ts';

export interface Serving extends Running {
  url: string;
  /** Calls it with the owner's key. */
  api: ApiClient;
}

/** Processes on one database, run as an operator would run them. */
export class Deployment {
  readonly key = generateKey();
  readonly folder: string;
  readonly #settings: Record<string, string>;
  readonly #running: Running[] = [];

  private constructor(folder: string, settings: Record<string, string>) {
    this.folder = folder;
    this.#settings = {
      PORT: '0',
      SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
      OWNER_API_KEY: this.key,
      RATE_LIMIT_PER_MINUTE: '1000000',
      NET_ALLOW: '127.0.0.0/8',
      MAIL_FROM: 'alerts@sitekeeper.example',
      ...settings,
    };
  }

  static async create(settings: Record<string, string>): Promise<Deployment> {
    return new Deployment(await mkdtemp(join(tmpdir(), 'sitekeeper-faults-')), settings);
  }

  async serve(settings: Record<string, string> = {}, args: string[] = []): Promise<Serving> {
    const running = this.start(settings, args);
    await said(running, 'Listening on');
    const url = await listening(running);
    return { ...running, url, api: new ApiClient(url, { Authorization: `Bearer ${this.key}` }) };
  }

  async work(settings: Record<string, string> = {}): Promise<Running> {
    const worker = this.start(settings, ['worker']);
    await said(worker, 'The engine runs');
    return worker;
  }

  start(settings: Record<string, string>, args: string[]): Running {
    const running = run(this.folder, { ...this.#settings, ...settings }, args);
    this.#running.push(running);
    return running;
  }

  async remove() {
    for (const running of this.#running) await kill(running);
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Patient: several start at once on machines with few cores. */
function said(running: Running, words: string) {
  return vi.waitFor(() => expect(running.printed()).toContain(words), { timeout: 40_000 });
}

export async function kill({ child, ended }: Running) {
  child.kill('SIGKILL');
  await ended;
}
