import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Caller } from './caller.ts';
import { type Limiters, take } from './limiters.ts';

const windowSeconds = 60;

/** How the caller stands after this request, for the headers of its answer. */
export interface RateStanding {
  allowed: boolean;
  policies: { name: string; limit: number; windowSeconds: number }[];
  /** The limit that is closest. */
  closest: { name: string; limit: number; remaining: number; resetSeconds: number };
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

  constructor(perMinute: number, limiters: Limiters) {
    const limit = (name: string, points: number) => ({ name, limit: points, limiter: limiters.create(name, points, windowSeconds) });
    this.#key = limit('key', perMinute);
    this.#session = limit('session', perMinute);
    this.#user = limit('user', perMinute * 2);
    this.#address = limit('address', Math.max(1, Math.round(perMinute / 10)));
  }

  countCaller({ userId, key, session }: Caller): Promise<RateStanding> {
    return count([key ? [this.#key, `${key.id}`] : [this.#session, `${session?.id}`], [this.#user, `${userId}`]]);
  }

  /** With 0 points the address is only looked at. */
  countAddress(address: string, points = 1): Promise<RateStanding> {
    return count([[this.#address, networkOf(address)]], points);
  }
}

async function count(counted: [Limit, string][], points = 1): Promise<RateStanding> {
  const standings = await Promise.all(
    counted.map(async ([{ name, limit, limiter }, key]) => {
      const result = await take(limiter, key, points);
      return {
        name,
        limit,
        allowed: result.consumedPoints <= limit,
        remaining: Math.max(0, result.remainingPoints),
        resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
      };
    }),
  );
  const closest =
    standings.find(({ allowed }) => !allowed) ??
    standings.reduce((least, standing) => (standing.remaining < least.remaining ? standing : least));
  return {
    allowed: standings.every((standing) => standing.allowed),
    policies: standings.map(({ name, limit }) => ({ name, limit, windowSeconds })),
    closest,
  };
}

/** One subscriber: an IPv4 address, or the /64 that an IPv6 address is in. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
