import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { generateKey } from '../../../src/auth/api-key.ts';
import { ApiClient } from '../../support/api-client.ts';
import { type RunningProcess, run, waitUntilListening } from '../../support/process.ts';

export interface RunningService extends RunningProcess {
  url: string;
  /** Sends requests with the owner's key. */
  api: ApiClient;
}

/** Processes on one database, started as an operator starts them. */
export class Deployment {
  readonly key = generateKey();
  readonly folder: string;
  readonly #settings: Record<string, string>;
  readonly #processes: RunningProcess[] = [];

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

  async serve(settings: Record<string, string> = {}, args: string[] = []): Promise<RunningService> {
    const service = this.start(settings, args);
    await waitForOutput(service, 'Listening on');
    const url = await waitUntilListening(service);
    return { ...service, url, api: new ApiClient(url, { Authorization: `Bearer ${this.key}` }) };
  }

  async startWorker(settings: Record<string, string> = {}): Promise<RunningProcess> {
    const worker = this.start(settings, ['worker']);
    await waitForOutput(worker, 'Engine started');
    return worker;
  }

  start(settings: Record<string, string>, args: string[]): RunningProcess {
    const started = run(this.folder, { ...this.#settings, ...settings }, args);
    this.#processes.push(started);
    return started;
  }

  async remove() {
    for (const started of this.#processes) await kill(started);
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The timeout is long, because several processes can start at the same time on a machine with few cores. */
function waitForOutput({ printed }: RunningProcess, text: string) {
  return vi.waitFor(() => expect(printed()).toContain(text), { timeout: 40_000 });
}

export async function kill({ child, ended }: RunningProcess) {
  child.kill('SIGKILL');
  await ended;
}
