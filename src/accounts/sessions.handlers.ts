import { LockMode } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { components, operations } from '../../generated/types/monitoring.ts';
import { hashKey } from '../auth/api-key.ts';
import { type Caller, revokedCredential } from '../auth/caller.ts';
import { hashPassword } from '../auth/passwords.ts';
import { newSessionToken, sessionExpiresAtMs } from '../auth/session.ts';
import { type CheckedUser, type SignIn, wrongCredentials } from '../auth/sign-in.ts';
import type { Database } from '../db/database.ts';
import { prepareSelect } from '../db/rows.ts';
import { type Query, queryInTransaction } from '../db/statement.ts';
import type { UserDatabase } from '../db/user-database.ts';
import { InvalidRequest } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { SessionEntity } from './session.entity.ts';
import { UserEntity } from './user.entity.ts';

type SessionOperations = Pick<operations, 'createSession' | 'showSession' | 'deleteSession' | 'changePassword'>;

const selectUser = prepareSelect(UserEntity);

export function sessionHandlers({ database, signIn }: { database: Database; signIn: SignIn }): Handlers<SessionOperations, UserDatabase> {
  return {
    async createSession({ body }, { address }) {
      const user = await signIn.check(body.email, body.password, address);
      if (!user) throw wrongCredentials();
      return database.asUser(user.id, async (em) => {
        if (!(await hasPassword(em, user))) throw wrongCredentials();
        return startSession(em, user.id);
      });
    },

    async showSession(_, { caller, db }) {
      return { body: { data: await sessionView(db, caller.userId, sessionOf(caller)) } };
    },

    async deleteSession(_, { caller, db }) {
      await db.transaction((em) => em.nativeDelete(SessionEntity, { id: sessionOf(caller).id }));
      return { body: { object: 'session', deleted: true }, revokesCredentials: true, sessionToken: null };
    },

    async changePassword({ body }, { caller, address, db }) {
      const { email } = await readUser(db, caller.userId);
      const user = await signIn.check(email, body.current, address);
      if (!user) throw new InvalidRequest([wrongCurrentPassword]);
      const passwordHash = await hashPassword(body.new, { userId: caller.userId });
      return db.transaction(async (em) => {
        if (!(await hasPassword(em, user))) throw new InvalidRequest([wrongCurrentPassword]);
        await em.nativeUpdate(UserEntity, { id: caller.userId }, { passwordHash });
        // Also this session: somebody may have stolen its token.
        await em.nativeDelete(SessionEntity, {});
        return { ...(await startSession(em, caller.userId)), revokesCredentials: true };
      });
    },
  };
}

const wrongCurrentPassword = { in: 'body', pointer: '/current', code: 'wrong_password', message: 'is not the current password' } as const;

/** The user may have been deleted since the session was checked, or while it was cached. */
async function readUser(db: { query: Query }, id: number) {
  const [[user]] = await db.query(selectUser({ id }));
  if (!user) throw revokedCredential('session');
  return user;
}

/** Whether the password is still the one that was checked. It stays so until the end of the transaction. */
async function hasPassword(em: SqlEntityManager, { id, passwordHash }: CheckedUser): Promise<boolean> {
  return (await em.findOne(UserEntity, { id, passwordHash }, { lockMode: LockMode.PESSIMISTIC_WRITE })) !== null;
}

const maxSessions = 100;

/** Starts a session, and ends the oldest if the user has too many. */
async function startSession(em: SqlEntityManager, userId: number) {
  const sessionToken = newSessionToken();
  const row = em.create(SessionEntity, { userId, tokenHash: hashKey(sessionToken) });
  await em.flush();
  const oldest = await em.find(SessionEntity, {}, { orderBy: { id: 'desc' }, offset: maxSessions });
  await em.nativeDelete(SessionEntity, { id: oldest.map(({ id }) => id) });
  const session = { id: row.id, createdAtMs: row.createdAt.getTime(), lastUsedAtMs: row.lastUsedAt.getTime() };
  return { body: { data: await sessionView({ query: queryInTransaction(em) }, userId, session) }, sessionToken };
}

function sessionOf({ session }: Caller): NonNullable<Caller['session']> {
  if (!session) throw new Error('An operation that accepts only sessions was called without one.');
  return session;
}

async function sessionView(
  db: { query: Query },
  userId: number,
  session: NonNullable<Caller['session']>,
): Promise<components['schemas']['Session']> {
  const { id, email } = await readUser(db, userId);
  return {
    user: { id, email },
    created_at: new Date(session.createdAtMs).toISOString(),
    expires_at: new Date(sessionExpiresAtMs(session)).toISOString(),
  };
}
