import { setTimeout as delay } from 'node:timers/promises';
import { resolveHost } from '../../net/resolve.ts';
import { repliesToTcp, type TcpAddress } from '../../net/tcp-probe.ts';
import type { CheckDeps, CheckResult } from '../checks/check.ts';
import { LocalFailure } from '../checks/local-failure.ts';
import { checkOf } from '../checks/registry.ts';
import type { Claim } from './claim.ts';
import type { ComparedMonitor } from './compared-monitors.ts';

/** There was no network on this machine, so nothing is known about the target. */
export class NoNetwork extends LocalFailure {
  /** Since when no host has replied. Absent for the first minute, in which the network may only have stumbled. */
  readonly since: Date | undefined;

  constructor(since: Date | undefined) {
    super('no network here');
    this.since = since;
  }
}

interface ConnectivityDeps extends CheckDeps {
  /** What the operator has named as always reachable (CONNECTIVITY_CHECK). */
  address?: TcpAddress | undefined;
  /** Finds monitors of other hosts that are up. */
  findUp(claim: Claim): Promise<ComparedMonitor[]>;
}

/** A silence that lasts this long is reported to the owners of monitors. */
const outageMs = 60_000;
const probeTimeoutMs = 3000;
/** A reply this long before a check counts as well, so that other hosts are asked at most once a second on behalf of quick failures. */
const recentMs = 1000;
/** Hosts are asked one after the other, because usually the first one replies. */
const nextHostMs = 200;
const resolveMs = 5000;
/** The number of servers that must have become silent, if the operator has named no address. */
const silentServers = 3;

/**
 * Decides whose fault it is that a check got no reply. If any other host replies, the target is to blame; its name servers are
 * part of it. If no host does, it is the network of this machine.
 */
export class Connectivity {
  readonly #deps: ConnectivityDeps;
  /** Before the start, nothing is known. */
  #lastReply = { ms: performance.now() - recentMs, at: new Date() };
  /** Whether the hosts that were asked last have all been silent, and nothing has replied since. */
  #isSilent = false;
  #asking: Promise<boolean> | undefined;

  constructor(deps: ConnectivityDeps) {
    this.#deps = deps;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** A host has replied, with whatever it was. */
  replied() {
    this.#lastReply = { ms: performance.now(), at: new Date() };
    this.#isSilent = false;
  }

  /** Returns the result of a check that started at this time, unless the network is to blame for it. */
  async judge(claim: Claim, result: CheckResult, startedMs: number): Promise<CheckResult | LocalFailure> {
    if (isReply(result)) this.replied();
    if (this.#lastReply.ms > startedMs - recentMs) return result;
    // Nobody is alerted of a monitor that is down already, so no other host is asked on its behalf.
    if (claim.state.status !== 'down') this.#isSilent = !(await this.#someHostReplies(claim));
    if (!this.#isSilent) return result;
    return new NoNetwork(performance.now() - this.#lastReply.ms >= outageMs ? this.#lastReply.at : undefined);
  }

  /** Checks that fail together ask together. */
  #someHostReplies(claim: Claim): Promise<boolean> {
    this.#asking ??= this.#ask(claim).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(claim: Claim): Promise<boolean> {
    const { address, findUp } = this.#deps;
    const startedMs = performance.now();
    if (address && (await repliesToTcp(address, probeTimeoutMs))) {
      this.replied();
      return true;
    }
    const compared = await findUp(claim);
    const stopped = [...compared, ...(claim.state.status === 'up' ? [claim] : [])];
    const servers = this.#countServers(stopped); // It runs meanwhile.
    const someReplied = () => this.#lastReply.ms >= startedMs;
    await this.#awaitReply(compared, someReplied);
    if (someReplied()) return true;
    return address === undefined && (await servers) < silentServers; // So few may be down at the same time.
  }

  /** Resolves with the first reply, or when there is none. */
  async #awaitReply(monitors: ComparedMonitor[], someReplied: () => boolean) {
    const checks = monitors.map(async ({ type, ...target }, index) => {
      await delay(index * nextHostMs);
      if (someReplied()) return;
      const result = await checkOf(type).run(target, this.#deps);
      if (result instanceof LocalFailure || !isReply(result)) throw new Error('no reply');
      this.replied();
    });
    await Promise.any(checks).catch(() => {});
  }

  /** Counts names of the same server once, and names of the same domain that are not resolved: they go down together. */
  async #countServers(monitors: { host: string }[]): Promise<number> {
    const { getDomain } = await import('tldts');
    const servers = monitors.map(async ({ host }) => {
      const addresses = await Promise.race([resolveHost(host, this.#deps.net), delay(resolveMs, [])]).catch(() => []);
      return addresses.map(({ address }) => address).sort()[0] ?? getDomain(host) ?? host;
    });
    return new Set(await Promise.all(servers)).size;
  }
}

function isReply(result: CheckResult): boolean {
  return result.up || !result.noReply;
}
