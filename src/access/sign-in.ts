import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { limitFailures } from './failure-limit.ts';
import type { Limiters } from './limiters.ts';
import { hashPassword, verifyPassword } from './passwords.ts';
import { networkOf } from './rate-limits.ts';

/** Checks passwords of users, and slows those who guess. */
export class SignIn {
  readonly #database: Database;
  readonly #perAddress;
  readonly #perAccount;
  /** What an unknown account is checked against, so that it takes as long as a wrong password. */
  readonly #nobodysHash = hashPassword('nobody has this password');

  constructor(database: Database, limiters: Limiters) {
    this.#database = database;
    this.#perAddress = limiters.create('sign-in-address', 5, 15 * 60);
    this.#perAccount = limiters.create('sign-in-account', 50, 60 * 60);
  }

  /** The id of the user whose password this is; undefined if it is nobody's. */
  async check(email: string, password: string, address: string): Promise<number | undefined> {
    const account = email.toLowerCase();
    return limitFailures(
      [
        [this.#perAddress, `${account} ${networkOf(address)}`],
        [this.#perAccount, account],
      ],
      async () => {
        const [user] = await this.#database.atTheDoor((em) =>
          em.execute<{ id: number; password_hash: string | null }[]>('select * from door_find_user(?)', [email]),
        );
        const matches = await verifyPassword(user?.password_hash ?? (await this.#nobodysHash), password);
        const id = matches && user?.password_hash ? user.id : undefined;
        return { succeeded: id !== undefined, result: id };
      },
    );
  }
}

export function wrongCredentials(): Refusal {
  return new Refusal('invalid_credentials', 'The e-mail address or the password is wrong.');
}
