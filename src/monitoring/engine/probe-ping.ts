import { setTimeout as pause } from 'node:timers/promises';
import { NetFault } from '../../net/net-fault.ts';
import { type Net, resolveHost } from '../../net/resolve.ts';
import { assertRoute } from '../../net/route.ts';
import { pingHost } from '../monitors/monitor.target.ts';
import { blame, OurFault } from './our-fault.ts';
import type { Ping } from './ping-programs.ts';
import type { CheckResult } from './transition.ts';

const requests = 3;
const gatheredMs = 50;
const timeoutMs = 10_000;

/** Pings the addresses that come close together in one go. */
export class Pinger {
  readonly #ping: Promise<Ping | undefined>;
  #gathered = new Map<string, PromiseWithResolvers<number | OurFault | undefined>>();

  /** How this machine pings; undefined where it may not. Finding out takes a moment, which nothing else waits for. */
  constructor(ping: Promise<Ping | undefined>) {
    this.#ping = ping;
  }

  /** The quickest answer in milliseconds, if there was one. */
  ping(address: string): Promise<number | OurFault | undefined> {
    if (this.#gathered.size === 0) setTimeout(() => void this.#go(), gatheredMs);
    const answer = this.#gathered.get(address) ?? Promise.withResolvers();
    this.#gathered.set(address, answer);
    return answer.promise;
  }

  async #go() {
    const asked = this.#gathered;
    this.#gathered = new Map();
    try {
      const ping = await this.#ping;
      if (!ping) throw new OurFault('neither fping nor ping may be used on this machine');
      const answers = await ping([...asked.keys()], requests);
      for (const [address, { resolve }] of asked) resolve(answers.get(address));
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
  }
}

/** Up when one of the echo requests is answered. */
export async function probePing(target: string, net: Net, pinger: Pinger): Promise<CheckResult | OurFault> {
  try {
    const addresses = await Promise.race([resolveHost(pingHost(target) ?? '', net), dnsIsLate()]);
    const address = await withRoute(addresses.map((found) => found.address));
    const answer = await pinger.ping(address);
    if (answer instanceof OurFault) return answer;
    if (answer !== undefined) return { up: true, responseTimeMs: answer };
    return { up: false, cause: `no answer to ${requests} echo requests`, statusCode: null };
  } catch (error) {
    return blame(error);
  }
}

async function dnsIsLate(): Promise<never> {
  await pause(timeoutMs, undefined, { ref: false });
  throw new NetFault('our_side', `DNS did not answer, timed out after ${timeoutMs / 1000} s`);
}

/** The first address that this machine knows a way to: those that ping do not tell silence from a request that was never sent. */
async function withRoute([first = '', ...others]: string[]): Promise<string> {
  try {
    await assertRoute(first);
    return first;
  } catch (error) {
    if (others.length > 0) return withRoute(others);
    throw error;
  }
}
