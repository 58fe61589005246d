import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { send } from '../../faults/support/load.ts';

let loads = 0;

/** Creates websites at a fixed rate, updates each of them, and records what the service has acknowledged. */
export class AcknowledgedWrites {
  /** Whether the update was acknowledged as well as the creation, by domain. */
  readonly isUpdated = new Map<string, boolean>();
  /** The number of responses by status. Status 0 means that the connection was refused or lost. */
  readonly statuses: Record<number, number> = {};
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #creations: { sentMs: number; acknowledgedMs: number }[] = [];
  readonly #pending = new Set<Promise<void>>();
  readonly #name = `load-${++loads}`;
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(url: string, key: string) {
    this.#url = `${url}/api/v1/websites`;
    this.#key = key;
  }

  /** A slow response does not delay the next request. */
  start(perSecond: number) {
    this.#timer = setInterval(() => {
      const write = this.#write(`${this.#name}-${++this.#sent}.example`).finally(() => this.#pending.delete(write));
      this.#pending.add(write);
    }, 1000 / perSecond);
  }

  async stop() {
    clearInterval(this.#timer);
    await Promise.all(this.#pending);
    this.#agent.destroy();
  }

  /** Resolves with the time of the first acknowledgement of a creation that was sent after the given time. */
  async waitForAcknowledgement(afterMs: number, timeoutMs: number): Promise<number> {
    const endMs = performance.now() + timeoutMs;
    while (performance.now() < endMs) {
      const first = this.#creations.find(({ sentMs }) => sentMs > afterMs);
      if (first) return first.acknowledgedMs;
      await delay(20);
    }
    throw new Error(`No write was acknowledged: ${JSON.stringify(this.statuses)}`);
  }

  async #write(domain: string) {
    const sentMs = performance.now();
    const created = await this.#send('POST', this.#url, `domain=${domain}`);
    if (created.status !== 201) return;
    this.isUpdated.set(domain, false);
    this.#creations.push({ sentMs, acknowledgedMs: performance.now() });
    const updated = await this.#send('PUT', `${this.#url}/${JSON.parse(created.body).data.id}`, 'favorite=1');
    if (updated.status === 200) this.isUpdated.set(domain, true);
  }

  async #send(method: string, url: string, form: string) {
    const response = await send(this.#agent, url, { method, key: this.#key, form });
    this.statuses[response.status] = (this.statuses[response.status] ?? 0) + 1;
    return response;
  }
}
