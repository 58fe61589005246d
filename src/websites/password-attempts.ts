import { verifyPassword } from '../auth/passwords.ts';
import { prepare } from '../db/statement.ts';
import { tables } from '../db/tables.ts';
import { limitFailures } from '../limits/failure-limit.ts';
import type { Limiters } from '../limits/limiters.ts';
import { networkOf } from '../limits/rate-limits.ts';
import type { WebsiteEntity } from './website.entity.ts';

/** The only statement that reads a password hash of a website. */
export const selectPassword = prepare(({ id }: { id: number }) =>
  tables<typeof WebsiteEntity>()
    .selectFrom('websites')
    .select(['id', 'user_id as userId', 'privacy', 'password_hash as passwordHash'])
    .where('id', '=', id),
);

type StoredPassword = NonNullable<ReturnType<typeof selectPassword>['row']>;

/** Checks the passwords of websites and slows down guessing. */
export class PasswordAttempts {
  readonly #perVisitor;
  readonly #perWebsite;

  constructor(limiters: Limiters) {
    this.#perVisitor = limiters.create('website-password-visitor', 5, 15 * 60);
    this.#perWebsite = limiters.create('website-password', 100, 60 * 60);
  }

  /** Whether the password gives access to the website. `visitor` identifies the client; by default its address does. */
  async verify(
    { id, userId, privacy, passwordHash }: StoredPassword,
    password: string,
    from: { visitor?: string; address: string },
  ): Promise<boolean> {
    // This website cannot be unlocked by any password, so there is nothing to guess and nothing to count. The faster response
    // reveals only the website's privacy, which the caller can read with the same scope.
    if (privacy !== 2 || !passwordHash) return false;
    const visitor = from.visitor === undefined ? `address ${networkOf(from.address)}` : `visitor ${from.visitor}`;
    return limitFailures(
      [
        [this.#perVisitor, `${id} ${visitor}`],
        [this.#perWebsite, `${id}`],
      ],
      async () => {
        const matches = await verifyPassword(passwordHash, password, { userId });
        return { succeeded: matches, result: matches };
      },
    );
  }
}
