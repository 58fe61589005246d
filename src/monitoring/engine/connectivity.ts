import { setTimeout as delay } from 'node:timers/promises';
import { resolveHost } from '../../net/resolve.ts';
import { repliesToTcp, type TcpAddress } from '../../net/tcp-probe.ts';
import type { CheckDeps, CheckResult, MissingReply } from '../checks/check.ts';
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
  findUp(claim: Pick<Claim, 'userId' | 'host'>): Promise<ComparedMonitor[]>;
}

/** A silence that lasts this long is reported to the owners of monitors. */
const outageMs = 60_000;
const probeTimeoutMs = 3000;
/** A reply this long before a check counts as well, so that other hosts are asked at most once a second on behalf of quick failures. */
const recentMs = 1000;
/** Hosts are asked one after the other, because usually the first one replies. */
const nextHostMs = 200;
const resolveMs = 5000;
/** Their checks have no options: any reply will do, and nobody expects a POST request or a secret in between. The claim must not expire. */
const plainTarget = { id: 0, userId: 0, settings: {}, intervalSeconds: 60, timeoutSeconds: 10, downBecause: null };
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
  /** When the hosts that were asked last were all silent. */
  #silentMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | undefined;

  constructor(deps: ConnectivityDeps) {
    this.#deps = deps;
  }

  /** Whether the hosts that were asked last have all been silent, and nothing has replied since. */
  get isSilent(): boolean {
    return this.#silentMs > this.#lastReply.ms;
  }

  /** Returns the result of a check that started at this time, unless the network is to blame for it. */
  async judge(claim: Claim, result: CheckResult, startedMs: number): Promise<CheckResult | LocalFailure> {
    const reply = replyOf(result);
    if (reply === 'now' || reply === 'earlier') this.#replied(reply, startedMs);
    if (this.#lastReply.ms > startedMs - recentMs) return result;
    // Nobody is alerted of a monitor that is down already, so no other host is asked on its behalf.
    if (claim.state.status !== 'down')
      this.#silentMs = (await this.#someHostReplies(claim, reply)) ? Number.NEGATIVE_INFINITY : performance.now();
    if (!this.isSilent) return result;
    return new NoNetwork(performance.now() - this.#lastReply.ms >= outageMs ? this.#lastReply.at : undefined);
  }

  /** A host has replied, with whatever it was. If it was silent afterwards, only the start of the check is certain. */
  #replied(when: 'now' | 'earlier', startedMs: number) {
    const nowMs = performance.now();
    const ms = when === 'now' ? nowMs : startedMs;
    if (ms > this.#lastReply.ms) this.#lastReply = { ms, at: new Date(Date.now() - (nowMs - ms)) };
  }

  /** Checks that fail together ask together. */
  #someHostReplies(claim: Claim, reply: MissingReply | 'now'): Promise<boolean> {
    this.#asking ??= this.#ask(claim, reply === 'none').finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Whether some host replies, or too few hosts are silent to blame the network. */
  async #ask(claim: Claim, isSilent: boolean): Promise<boolean> {
    const { address, findUp } = this.#deps;
    const startedMs = performance.now();
    if (address && (await repliesToTcp(address, probeTimeoutMs))) {
      this.#replied('now', startedMs);
      return true;
    }
    const wasUp = claim.state.status === 'up';
    // A monitor that was never up may be the second one of a host that was.
    const compared = await findUp(wasUp ? claim : { ...claim, host: '' });
    const servers = this.#findServers([claim, ...compared]); // It runs meanwhile.
    servers.catch(() => {}); // It is awaited below.
    const someReplied = () => this.#lastReply.ms >= startedMs;
    const silent = await this.#findSilent(compared, someReplied);
    const serverOf = await servers;
    if (someReplied()) return true;
    const stopped = new Set([...silent, ...(wasUp && isSilent ? [claim] : [])].map(({ host }) => serverOf.get(host)));
    return address === undefined && stopped.size < silentServers; // So few may be down at the same time.
  }

  /** Returns the monitors that got no reply. It does not wait for all of them once there is one. */
  async #findSilent(monitors: ComparedMonitor[], someReplied: () => boolean): Promise<ComparedMonitor[]> {
    const silent: ComparedMonitor[] = [];
    const checks = monitors.map(async (monitor, index) => {
      await delay(index * nextHostMs);
      if (someReplied()) return;
      const startedMs = performance.now();
      const result = await checkOf(monitor.type).run({ ...plainTarget, url: monitor.url }, this.#deps);
      const reply = result instanceof LocalFailure ? 'not_asked' : replyOf(result);
      if (reply === 'none') silent.push(monitor);
      if (reply === 'none' || reply === 'not_asked') throw new Error('no reply');
      this.#replied(reply, startedMs);
    });
    await Promise.any(checks).catch(() => {});
    return silent;
  }

  /** Maps hosts to servers: names of one server have one, and so have names of one domain that are not resolved. They go down together. */
  async #findServers(monitors: { host: string }[]): Promise<Map<string, string>> {
    const { getDomain } = await import('tldts');
    const servers = monitors.map(async ({ host }): Promise<[string, string]> => {
      const addresses = await Promise.race([resolveHost(host, this.#deps.net), delay(resolveMs, [])]).catch(() => []);
      return [host, addresses.map(({ address }) => address).sort()[0] ?? getDomain(host) ?? host];
    });
    return new Map(await Promise.all(servers));
  }
}

function replyOf(result: CheckResult): MissingReply | 'now' {
  return result.up ? 'now' : (result.reply ?? 'now');
}
