import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { prepare } from '../db/statement.ts';
import { ProblemError } from '../errors.ts';
import { limitFailures } from '../limits/failure-limit.ts';
import type { Limiters } from '../limits/limiters.ts';
import { networkOf } from '../limits/rate-limits.ts';
import { hashPassword, verifyPassword } from './passwords.ts';

const selectUser = prepare(
  ({ email }: { email: string }) => sql<{ id: number; password_hash: string | null }>`select * from auth_find_user(${email})`,
);

export interface CheckedUser {
  id: number;
  /** The hash that the password matched. Checking takes a while, and the password may have been changed in the meantime. */
  passwordHash: string;
}

/** Checks the passwords of users and slows down guessing. */
export class SignIn {
  readonly #database: Database;
  readonly #perAddress;
  readonly #perAccount;
  /** Unknown accounts are checked against this hash, so that they take as long as a wrong password. */
  readonly #decoyHash = hashPassword('no account has this password', { network: 'this service' });

  constructor(database: Database, limiters: Limiters) {
    this.#database = database;
    this.#perAddress = limiters.create('sign-in-address', 5, 15 * 60);
    this.#perAccount = limiters.create('sign-in-account', 50, 60 * 60);
  }

  /** Returns the user, or undefined if address and password do not match. */
  async check(email: string, password: string, address: string): Promise<CheckedUser | undefined> {
    const account = email.toLowerCase();
    const network = networkOf(address);
    return limitFailures(
      [
        [this.#perAddress, `${account} ${network}`],
        [this.#perAccount, account],
      ],
      async () => {
        const [[user]] = await this.#database.query()(selectUser({ email }));
        const matches = await verifyPassword(user?.password_hash ?? (await this.#decoyHash), password, { network });
        const result = matches && user?.password_hash ? { id: user.id, passwordHash: user.password_hash } : undefined;
        return { succeeded: result !== undefined, result };
      },
    );
  }
}

export function wrongCredentials(): ProblemError {
  return new ProblemError('invalid_credentials', 'The e-mail address or the password is wrong.');
}
