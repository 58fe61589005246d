import type { operations } from '../../generated/types/monitoring.ts';
import type { Database } from '../db/database.ts';
import { prepareRead } from '../db/rows.ts';
import type { UserDatabase } from '../db/user-database.ts';
import { ProblemError } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { networkOf } from '../limits/rate-limits.ts';
import { UserEntity } from './user.entity.ts';
import { createUser } from './users.ts';

const readUser = prepareRead(UserEntity);

interface UserDeps {
  database: Database;
  signupOpen: boolean;
}

export function userHandlers({ database, signupOpen }: UserDeps): Handlers<Pick<operations, 'createUser'>, UserDatabase> {
  return {
    async createUser({ body }, { address }) {
      if (!signupOpen) throw new ProblemError('signup_closed', 'Sign-up is closed. Ask the operator of this service for an account.');
      const userId = await createUser(database, body.email, body.password, networkOf(address));
      if (userId === undefined) throw new ProblemError('email_taken', 'An account with this e-mail address already exists.');
      const user = await readUser({ query: database.query(userId) }, userId);
      return { body: { data: { id: user.id, email: user.email, created_at: user.createdAt.toISOString() } } };
    },
  };
}
