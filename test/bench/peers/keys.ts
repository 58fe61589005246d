import { createHash } from 'node:crypto';
import type pg from 'pg';

/** Finds the user of a key, with a cache of a few seconds as in the service. */
export class Keys {
  readonly #pool: pg.Pool;
  readonly #known = new Map<string, { userId: number; untilMs: number }>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async userOf(authorization: string | undefined): Promise<number | undefined> {
    const key = /^Bearer (stkp_[0-9A-Za-z]{36})$/.exec(authorization ?? '')?.[1];
    if (key === undefined) return undefined;
    const known = this.#known.get(key);
    if (known && known.untilMs > Date.now()) return known.userId;
    const hash = createHash('sha256').update(key).digest();
    const { rows } = await this.#pool.query<{ user_id: number }>({
      name: 'key',
      text: 'select user_id from auth_find_api_key($1)',
      values: [hash],
    });
    const userId = rows[0]?.user_id;
    if (userId !== undefined) this.#known.set(key, { userId, untilMs: Date.now() + 4000 });
    return userId;
  }
}
