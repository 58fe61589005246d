import { hash } from 'node:crypto';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { consume, enforceLimit, type Limiters } from './limiters.ts';

const windowSeconds = 60;
/** For each token in a path, such as that of a heartbeat. */
const tokenRequests = 60;

/** The state of a caller's limits after a request, for the response headers. */
export interface RateLimitStatus {
  /** The limits of this caller, in the format of RateLimit-Policy. */
  policy: string;
  /** The limit with the fewest requests left. */
  tightest: LimitStatus;
}

interface LimitStatus {
  name: string;
  limit: number;
  isExceeded: boolean;
  remaining: number;
  resetSeconds: number;
}

interface Limit {
  name: string;
  limit: number;
  limiter: RateLimiterAbstract;
}

/** Counts requests per key or session and per user, and per address if the caller is not known. */
export class RateLimits {
  readonly #key: Limit;
  readonly #session: Limit;
  readonly #user: Limit;
  readonly #address: Limit;
  readonly #lookup: Limit;
  readonly #token: Limit;
  readonly #policies: { key: string; session: string; address: string; token: string };

  constructor(perMinute: number, limiters: Limiters) {
    const limit = (name: string, points: number) => ({ name, limit: points, limiter: limiters.create(name, points, windowSeconds) });
    this.#key = limit('key', perMinute);
    this.#session = limit('session', perMinute);
    this.#user = limit('user', perMinute * 2);
    this.#address = limit('address', Math.max(1, Math.round(perMinute / 10)));
    this.#lookup = limit('lookup', perMinute);
    this.#token = limit('token', tokenRequests);
    this.#policies = {
      key: policyOf(this.#key, this.#user),
      session: policyOf(this.#session, this.#user),
      address: policyOf(this.#address),
      token: policyOf(this.#token),
    };
  }

  async countCaller(caller: { userId: number; key?: { id: number }; session?: { id: number } }): Promise<RateLimitStatus> {
    const { userId, key, session } = caller;
    const counting = key ? count(this.#key, key.id) : count(this.#session, session?.id);
    const [own, user] = await Promise.all([counting, count(this.#user, userId)]);
    // A key that exceeds its own limit must not use up the limit that it shares with the user's other keys.
    if (own.isExceeded) await this.#user.limiter.reward(userId);
    const tightest = !own.isExceeded && (user.isExceeded || user.remaining < own.remaining) ? user : own;
    return { policy: key ? this.#policies.key : this.#policies.session, tightest };
  }

  /** Counts the lookup of a credential. Throws RetryLaterError if the address has no lookups left. */
  async countLookup(address: string): Promise<void> {
    await enforceLimit(this.#lookup.limiter, networkOf(address), 'Too many unknown keys or sessions came from your address.');
  }

  /** Takes back the lookup of a credential that turned out to be valid. */
  async refundLookup(address: string): Promise<void> {
    await this.#lookup.limiter.reward(networkOf(address));
  }

  /** Counts a request whose credential is a token in its path. */
  async countToken(token: string): Promise<RateLimitStatus> {
    return { policy: this.#policies.token, tightest: await count(this.#token, hashOf(token)) };
  }

  async forgetToken(token: string): Promise<void> {
    await this.#token.limiter.delete(hashOf(token));
  }

  /** With 0 points it only reads the state. */
  async countAddress(address: string, points = 1): Promise<RateLimitStatus> {
    return { policy: this.#policies.address, tightest: await count(this.#address, networkOf(address), points) };
  }
}

/** Tokens are credentials, so limiters must not contain them. */
function hashOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

function policyOf(...limits: Limit[]): string {
  return limits.map(({ name, limit }) => `"${name}";q=${limit};w=${windowSeconds}`).join(', ');
}

async function count({ name, limit, limiter }: Limit, key: string | number | undefined, points = 1): Promise<LimitStatus> {
  const { consumedPoints, remainingPoints, msBeforeNext } = await consume(limiter, `${key}`, points);
  return {
    name,
    limit,
    isExceeded: consumedPoints > limit,
    remaining: Math.max(0, remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  };
}

/** Returns the unit that limits count by: an IPv4 address, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
