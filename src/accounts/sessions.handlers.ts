import type { SqlEntityManager } from '@mikro-orm/sql';
import type { components, operations } from '../../generated/types/monitoring.ts';
import { hashKey } from '../auth/api-key.ts';
import type { Caller } from '../auth/caller.ts';
import { hashPassword } from '../auth/passwords.ts';
import { newSessionToken, sessionExpiresAtMs } from '../auth/session.ts';
import { type SignIn, wrongCredentials } from '../auth/sign-in.ts';
import type { Database } from '../db/database.ts';
import { findById } from '../db/find-by-id.ts';
import type { UserDatabase } from '../db/user-database.ts';
import { InvalidRequest } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { SessionEntity } from './session.entity.ts';
import { UserEntity } from './user.entity.ts';

type SessionOperations = Pick<operations, 'createSession' | 'showSession' | 'deleteSession' | 'changePassword'>;

export function sessionHandlers({ database, signIn }: { database: Database; signIn: SignIn }): Handlers<SessionOperations, UserDatabase> {
  return {
    async createSession({ body }, { address }) {
      const userId = await signIn.check(body.email, body.password, address);
      if (userId === undefined) throw wrongCredentials();
      return database.asUser(userId, (em) => startSession(em, userId));
    },

    async showSession(_, { caller, db }) {
      return { body: { data: await db.transaction((em) => sessionView(em, caller.userId, sessionOf(caller))) } };
    },

    async deleteSession(_, { caller, db }) {
      await db.transaction((em) => em.nativeDelete(SessionEntity, { id: sessionOf(caller).id }));
      return { body: { object: 'session', deleted: true }, revokesCredentials: true, sessionToken: null };
    },

    async changePassword({ body }, { caller, address, db }) {
      const { email } = await db.transaction((em) => findById(em, UserEntity, caller.userId));
      if ((await signIn.check(email, body.current, address)) === undefined) throw new InvalidRequest([wrongCurrentPassword]);
      const passwordHash = await hashPassword(body.new, { userId: caller.userId });
      return db.transaction(async (em) => {
        await em.nativeUpdate(UserEntity, { id: caller.userId }, { passwordHash });
        // Also this session: somebody may have stolen its token.
        await em.nativeDelete(SessionEntity, {});
        return { ...(await startSession(em, caller.userId)), revokesCredentials: true };
      });
    },
  };
}

const wrongCurrentPassword = { in: 'body', pointer: '/current', code: 'wrong_password', message: 'is not the current password' } as const;

async function startSession(em: SqlEntityManager, userId: number) {
  const sessionToken = newSessionToken();
  const row = em.create(SessionEntity, { userId, tokenHash: hashKey(sessionToken) });
  await em.flush();
  const session = { id: row.id, createdAtMs: row.createdAt.getTime(), lastUsedAtMs: row.lastUsedAt.getTime() };
  return { body: { data: await sessionView(em, userId, session) }, sessionToken };
}

function sessionOf({ session }: Caller): NonNullable<Caller['session']> {
  if (!session) throw new Error('An operation that accepts only sessions was called without one.');
  return session;
}

async function sessionView(
  em: SqlEntityManager,
  userId: number,
  session: NonNullable<Caller['session']>,
): Promise<components['schemas']['Session']> {
  const { id, email } = await findById(em, UserEntity, userId);
  return {
    user: { id, email },
    created_at: new Date(session.createdAtMs).toISOString(),
    expires_at: new Date(sessionExpiresAtMs(session)).toISOString(),
  };
}
