import type { SqlEntityManager } from '@mikro-orm/sql';
import type { components, operations } from '../../generated/types/monitoring.ts';
import type { Database } from '../db/database.ts';
import { Invalid, NotFound, Refusal } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { hashKey } from './api-key.ts';
import type { Caller } from './caller.ts';
import { hashPassword } from './passwords.ts';
import { SessionEntity } from './session.entity.ts';
import { newSessionToken, sessionEndsAtMs } from './session.ts';
import { type SignIn, wrongCredentials } from './sign-in.ts';
import { UserEntity } from './user.entity.ts';
import { createUser } from './users.ts';

type SessionOperations = Pick<operations, 'createSession' | 'showSession' | 'deleteSession' | 'changePassword' | 'createUser'>;

interface Parts {
  database: Database;
  signIn: SignIn;
  signupOpen: boolean;
}

export function sessionHandlers({ database, signIn, signupOpen }: Parts): Handlers<SessionOperations> {
  return {
    async createSession({ body }, { address }) {
      const userId = await signIn.check(body.email, body.password, address);
      if (userId === undefined) throw wrongCredentials();
      const sessionToken = newSessionToken();
      return database.asUser(userId, async (em) => {
        const row = em.create(SessionEntity, { userId, tokenHash: hashKey(sessionToken) });
        await em.flush();
        const session = { id: row.id, createdAtMs: row.createdAt.getTime(), lastUsedAtMs: row.lastUsedAt.getTime() };
        return { body: { data: await sessionView(em, userId, session) }, sessionToken };
      });
    },

    async showSession(_, { caller, asUser }) {
      return { body: { data: await asUser((em) => sessionView(em, caller.userId, sessionOf(caller))) } };
    },

    async deleteSession(_, { caller, asUser }) {
      await asUser((em) => em.nativeDelete(SessionEntity, { id: sessionOf(caller).id }));
      return { body: { object: 'session', deleted: true }, endsAccess: true, sessionToken: null };
    },

    async changePassword({ body }, { caller, address, asUser }) {
      const { email } = await asUser((em) => findUser(em, caller.userId));
      if ((await signIn.check(email, body.current, address)) === undefined) throw new Invalid([wrongCurrent]);
      const passwordHash = await hashPassword(body.new);
      const session = sessionOf(caller);
      return asUser(async (em) => {
        await em.nativeUpdate(UserEntity, { id: caller.userId }, { passwordHash });
        await em.nativeDelete(SessionEntity, { id: { $ne: session.id } });
        return { body: { data: await sessionView(em, caller.userId, session) }, endsAccess: true };
      });
    },

    async createUser({ body }) {
      if (!signupOpen) throw new Refusal('signup_closed', 'Sign-up is closed. The operator of this service makes the accounts.');
      const userId = await createUser(database, body.email, body.password);
      if (userId === undefined) throw new Refusal('email_taken', 'There is an account with this e-mail address already.');
      const user = await database.asUser(userId, (em) => findUser(em, userId));
      return { body: { data: { id: user.id, email: user.email, created_at: user.createdAt.toISOString() } } };
    },
  };
}

const wrongCurrent = { in: 'body', pointer: '/current', code: 'wrong_password', message: 'is not the password of this account' } as const;

function sessionOf({ session }: Caller): NonNullable<Caller['session']> {
  if (!session) throw new Error('An operation that takes only sessions was reached without one.');
  return session;
}

async function findUser(em: SqlEntityManager, id: number) {
  const user = await em.findOne(UserEntity, id);
  if (!user) throw new NotFound();
  return user;
}

async function sessionView(
  em: SqlEntityManager,
  userId: number,
  session: NonNullable<Caller['session']>,
): Promise<components['schemas']['Session']> {
  const { id, email } = await findUser(em, userId);
  return {
    user: { id, email },
    created_at: new Date(session.createdAtMs).toISOString(),
    expires_at: new Date(sessionEndsAtMs(session)).toISOString(),
  };
}
