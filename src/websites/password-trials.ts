import { limitFailures } from '../access/failure-limit.ts';
import type { Limiters } from '../access/limiters.ts';
import { verifyPassword } from '../access/passwords.ts';
import { networkOf } from '../access/rate-limits.ts';
import type { Website } from './website.entity.ts';

/** Tries passwords of websites, and slows those who guess. */
export class PasswordTrials {
  readonly #perVisitor;
  readonly #perWebsite;

  constructor(limiters: Limiters) {
    this.#perVisitor = limiters.create('website-password-visitor', 5, 15 * 60);
    this.#perWebsite = limiters.create('website-password', 100, 60 * 60);
  }

  /** Whether the password opens the website now. `visitor` is the caller's own word; without it the address counts. */
  async opens({ id, privacy, passwordHash }: Website, password: string, from: { visitor?: string; address: string }): Promise<boolean> {
    // No password opens it, so none is being guessed: nothing to count. That the answer is quicker tells no more than
    // the website's privacy, which the same scope lets the caller read.
    if (privacy !== 2 || !passwordHash) return false;
    const visitor = from.visitor === undefined ? `address ${networkOf(from.address)}` : `visitor ${from.visitor}`;
    return limitFailures(
      [
        [this.#perVisitor, `${id} ${visitor}`],
        [this.#perWebsite, `${id}`],
      ],
      async () => {
        const matches = await verifyPassword(passwordHash, password);
        return { succeeded: matches, result: matches };
      },
    );
  }
}
