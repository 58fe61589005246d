import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Caller } from './caller.ts';
import { type Limiters, take } from './limiters.ts';

const windowSeconds = 60;

/** How the caller stands after this request, for the headers of its answer. */
export interface RateStanding {
  /** The limits that hold for this caller, as RateLimit-Policy says them. */
  policy: string;
  /** The limit that is closest. */
  closest: Standing;
}

interface Standing {
  name: string;
  limit: number;
  isOver: boolean;
  remaining: number;
  resetSeconds: number;
}

interface Limit {
  name: string;
  limit: number;
  limiter: RateLimiterAbstract;
}

/** Counts requests: per key or session and per user; per address where the caller is not known. */
export class RateLimits {
  readonly #key: Limit;
  readonly #session: Limit;
  readonly #user: Limit;
  readonly #address: Limit;
  readonly #policies: { key: string; session: string; address: string };

  constructor(perMinute: number, limiters: Limiters) {
    const limit = (name: string, points: number) => ({ name, limit: points, limiter: limiters.create(name, points, windowSeconds) });
    this.#key = limit('key', perMinute);
    this.#session = limit('session', perMinute);
    this.#user = limit('user', perMinute * 2);
    this.#address = limit('address', Math.max(1, Math.round(perMinute / 10)));
    this.#policies = {
      key: policyOf(this.#key, this.#user),
      session: policyOf(this.#session, this.#user),
      address: policyOf(this.#address),
    };
  }

  async countCaller({ userId, key, session }: Caller): Promise<RateStanding> {
    const counted = key ? count(this.#key, key.id) : count(this.#session, session?.id);
    const [own, user] = await Promise.all([counted, count(this.#user, userId)]);
    // A key that is over its own limit does not use up what is left for the user's others.
    if (own.isOver) await this.#user.limiter.reward(userId);
    const closest = !own.isOver && (user.isOver || user.remaining < own.remaining) ? user : own;
    return { policy: key ? this.#policies.key : this.#policies.session, closest };
  }

  /** With 0 points the address is only looked at. */
  async countAddress(address: string, points = 1): Promise<RateStanding> {
    return { policy: this.#policies.address, closest: await count(this.#address, networkOf(address), points) };
  }
}

function policyOf(...limits: Limit[]): string {
  return limits.map(({ name, limit }) => `"${name}";q=${limit};w=${windowSeconds}`).join(', ');
}

async function count({ name, limit, limiter }: Limit, key: string | number | undefined, points = 1): Promise<Standing> {
  const { consumedPoints, remainingPoints, msBeforeNext } = await take(limiter, `${key}`, points);
  return {
    name,
    limit,
    isOver: consumedPoints > limit,
    remaining: Math.max(0, remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  };
}

/** One subscriber: an IPv4 address, or the /64 that an IPv6 address is in. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
