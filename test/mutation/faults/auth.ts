import { type Fault, faultsIn } from '../fault.ts';

const authenticator = ['test/auth/authenticator.test.ts'];
const revocation = ['test/auth/revocation.test.ts'];
const createSession = ['test/accounts/create-session.test.ts'];
const verifyWebsitePassword = ['test/websites/verify-website-password.test.ts'];
const createKey = ['test/accounts/create-key.test.ts'];

export const authFaults: Fault[] = [
  ...faultsIn({ file: 'src/auth/authenticator.ts', tests: authenticator }, [
    {
      title: 'a revoked key stays in the cache of other processes',
      find: 'onNotification: (hash) => authenticator.forget(hash),',
      replace: 'onNotification: () => {},',
      tests: ['test/auth/authenticator.test.ts > the cache'],
    },
    {
      title: 'a session never expires',
      find: ' || sessionExpiresAtMs(cached.caller.session) <= this.#now()',
      replace: '',
      tests: ['test/auth/expired-sessions.test.ts'],
    },
    { title: 'an expired key is accepted', find: '(expiresAtMs !== null && expiresAtMs <= this.#now())', replace: 'expiresAtMs === 0' },
    {
      title: 'the second of two Authorization headers is ignored',
      find: "authorization.length === 1 ? (authorization[0] ?? '') : ''",
      replace: "authorization[0] ?? ''",
    },
    {
      title: 'a session is accepted although an invalid key was sent',
      find: 'if (authorization.length > 0 && acceptsKeys) {',
      replace: 'if (authorization.length > 0 && acceptsKeys && sessionToken === undefined) {',
    },
    {
      title: 'a malformed key is looked up in the database',
      find: 'if (!isWellFormedKey(key)) throw malformedKey();',
      replace: '',
      tests: ['test/auth/authenticator.test.ts > the cache'],
    },
    { title: 'the cache keeps a key for a minute', find: 'const cacheMs = 4000;', replace: 'const cacheMs = 60_000;', tests: revocation },
    {
      title: 'a lookup that was running puts a revoked key back into the cache',
      find: 'if (this.#revoked.has(hash)) return undefined;',
      replace: '',
      tests: ['test/auth/authenticator.test.ts > the cache'],
    },
    {
      title: 'the cache is kept after a lost connection for notifications',
      find: 'onReconnect: () => authenticator.#cache.clear(),',
      replace: 'onReconnect: () => {},',
      tests: ['test/auth/authenticator.test.ts > the cache'],
    },
    {
      title: 'concurrent requests with one key cost a query each',
      find: 'this.#running.get(hash) ?? lookUp()',
      replace: 'lookUp()',
      tests: ['test/auth/authenticator.test.ts > share one lookup'],
    },
    {
      title: 'the lookups of a deleted key are not counted for an hour',
      find: '      this.#familiar.delete(hash);\n',
      replace: '',
      tests: ['test/auth/authenticator.test.ts > is not familiar any more'],
    },
    {
      title: 'familiar keys wait behind a flood of invented ones',
      find: "isFamiliar ? 'familiar' : 'unknown'",
      replace: "'unknown'",
      tests: ['test/auth/authenticator.test.ts > a familiar key does not wait'],
    },
    {
      title: 'the process ends if a cached key cannot be renewed',
      find: "        (error: unknown) => this.#warn(error, 'Renewing a cached key or session failed; it is looked up again'),\n",
      replace: '',
      tests: ['test/auth/authenticator.test.ts > the renewal of its cached key fails'],
    },
    {
      title: 'the process ends if last_used_at cannot be written',
      find: "\n      .catch((error: unknown) => this.#warn(error, 'Updating last_used_at of a key or session failed'));",
      replace: ';',
      tests: ['test/auth/authenticator.test.ts > cannot be written as the last use'],
    },
    {
      title: 'an unknown key costs a query each time',
      find: 'if (this.#unknown.has(hash)) return undefined;',
      replace: '',
      tests: ['test/auth/authenticator.test.ts > the cache'],
    },
    {
      title: 'a new key is unknown for ten minutes to a process that has seen it too early',
      find: 'const unknownMs = 2000;',
      replace: 'const unknownMs = 600_000;',
      tests: ['test/auth/authenticator.test.ts > the cache'],
    },
    {
      title: 'lookups of unknown keys are not limited',
      find: 'if (!isFamiliar) await beforeLookup();',
      replace: '',
      tests: ['test/auth/authenticator.test.ts > the cache'],
    },
    {
      title: 'last_used_at is written with every request',
      find: 'if (now - lastWrite < lastUsedIntervalMs || id === undefined) return;',
      replace: 'if (id === undefined) return;',
      tests: ['test/accounts/list-keys.test.ts'],
    },
    {
      title: 'last_used_at is never written',
      find: 'this.#lastUsedWrites.set(hash, now);',
      replace: 'this.#lastUsedWrites.set(hash, now); if (now > 0) return;',
      tests: ['test/accounts/list-keys.test.ts'],
    },
    {
      title: 'a busy session expires after seven days, because its last use is not stored',
      find: "this.#updateLastUsed(hash, cached, 'sessions', cached.caller.session.id);",
      replace: '',
      tests: ['test/auth/expired-sessions.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/auth/session.ts', tests: ['test/auth/expired-sessions.test.ts'] }, [
    {
      title: 'a session that is not used lives for 30 days',
      find: 'session.lastUsedAtMs + 7 * day',
      replace: 'session.lastUsedAtMs + 30 * day',
    },
    {
      title: 'a session that is used lives forever',
      find: 'return Math.min(session.lastUsedAtMs + 7 * day, session.createdAtMs + 30 * day);',
      replace: 'return session.lastUsedAtMs + 7 * day;',
    },
    { title: 'a session token has 64 random bits', find: 'randomBytes(32)', replace: 'randomBytes(8)' },
    {
      title: 'the cookie expires with the browser',
      find: 'export const sessionMaxAgeSeconds = (30 * day) / 1000;',
      replace: 'export const sessionMaxAgeSeconds = 0;',
      tests: createSession,
    },
  ]),
  ...faultsIn({ file: 'src/auth/sign-in.ts', tests: createSession }, [
    {
      title: 'the limit of failed sign-ins per account is 5,000',
      find: "'sign-in-account', 50, 60 * 60",
      replace: "'sign-in-account', 5000, 60 * 60",
    },
    {
      title: 'the limit of failed sign-ins per account ends after a minute',
      find: "'sign-in-account', 50, 60 * 60",
      replace: "'sign-in-account', 50, 60",
    },
    {
      title: 'the limit of failed sign-ins per address is 50',
      find: "'sign-in-address', 5, 15 * 60",
      replace: "'sign-in-address', 50, 15 * 60",
    },
    {
      title: 'the limit of failed sign-ins per address ends after a minute',
      find: "'sign-in-address', 5, 15 * 60",
      replace: "'sign-in-address', 5, 60",
    },
    {
      title: 'the limits of sign-ins distinguish upper and lower case of an address',
      find: 'const account = email.toLowerCase();',
      replace: 'const account = email;',
    },
    {
      title: 'an unknown account is rejected faster than a wrong password',
      find: 'const matches = await verifyPassword(user?.password_hash ?? (await this.#decoyHash), password, { network });',
      replace: 'const matches = user?.password_hash ? await verifyPassword(user.password_hash, password, { network }) : false;',
    },
    {
      title: 'each address of an IPv6 network has its own limit of failed sign-ins',
      find: 'const network = networkOf(address);',
      replace: 'const network = address;',
    },
  ]),
  ...faultsIn({ file: 'src/limits/failure-limit.ts', tests: createSession }, [
    {
      title: 'a client that is locked out locks the account for everybody',
      find: '    await refund();\n    const seconds',
      replace: '    const seconds',
    },
    { title: 'successful sign-ins count as failures', find: 'if (!failed) await refund();', replace: '' },
    { title: 'failed attempts are not counted', find: 'failed = !succeeded;', replace: 'failed = succeeded;' },
  ]),
  ...faultsIn({ file: 'src/auth/passwords.ts', tests: ['test/auth/passwords.test.ts'] }, [
    { title: 'passwords are hashed with one kibibyte of memory', find: 'memoryCost: 19_456', replace: 'memoryCost: 1024' },
    { title: 'passwords are hashed in one pass', find: 'timeCost: 2', replace: 'timeCost: 1' },
    {
      title: 'all owners wait in one queue for the check of a password',
      find: 'slots.run(JSON.stringify(owner), () => verify(stored, password))',
      replace: "slots.run(owner ? '' : '', () => verify(stored, password))",
      tests: verifyWebsitePassword,
    },
  ]),
  ...faultsIn({ file: 'src/websites/password-attempts.ts', tests: verifyWebsitePassword }, [
    {
      title: 'the password of a website waits among those of its visitor',
      find: 'verifyPassword(passwordHash, password, { userId })',
      replace: 'verifyPassword(passwordHash, password, { network: `${userId} ${visitor}` })',
    },
    {
      title: 'the limit of wrong passwords of a website is 10,000',
      find: "'website-password', 100, 60 * 60",
      replace: "'website-password', 10_000, 60 * 60",
    },
  ]),
  ...faultsIn({ file: 'src/auth/secret-cipher.ts', tests: ['test/auth/secret-cipher.test.ts'] }, [
    {
      title: 'a secret can be moved to another user',
      find: 'JSON.stringify([userId, table, row, field])',
      replace: 'JSON.stringify([table, row, field])',
    },
    {
      title: 'a secret can be moved to another row',
      find: 'JSON.stringify([userId, table, row, field])',
      replace: 'JSON.stringify([userId, table, field])',
    },
    {
      title: 'secrets are encrypted with the same IV',
      find: 'const iv = randomBytes(ivBytes);',
      replace: 'const iv = Buffer.alloc(ivBytes, 7);',
    },
    {
      title: 'secrets are encrypted with the oldest key',
      find: 'const [newest] = this.#keys.keys();',
      replace: 'const newest = [...this.#keys.keys()].at(-1);',
    },
  ]),
  ...faultsIn({ file: 'src/accounts/users.ts', tests: ['test/accounts/set-password.test.ts'] }, [
    { title: "an operator's password reset leaves sessions alive", find: '    await em.nativeDelete(SessionEntity, {});\n', replace: '' },
  ]),
  ...faultsIn({ file: 'src/db/times.ts', tests: ['test/accounts/create-key.test.ts'] }, [
    { title: 'an expiry in the past is accepted', find: 'time.getTime() > nowMs', replace: 'nowMs > 0' },
  ]),
  ...faultsIn({ file: 'src/db/repeat-after-deadlock.ts', tests: ['test/db/repeat-after-deadlock.test.ts'] }, [
    {
      title: 'a deadlock keeps an account from being deleted',
      find: 'if (!isConflict(error) || attempt === maxAttempts) throw error;',
      replace: 'throw error;',
    },
    {
      title: 'a statement that timed out is repeated',
      find: 'if (!isConflict(error) || attempt === maxAttempts) throw error;',
      replace: 'if (attempt === maxAttempts) throw error;',
    },
  ]),
  ...faultsIn({ file: 'src/accounts/sessions.handlers.ts', tests: ['test/accounts/change-password.test.ts'] }, [
    { title: 'a new password leaves other sessions alive', find: '        await em.nativeDelete(SessionEntity, {});\n', replace: '' },
    {
      title: 'a new password leaves sessions in the cache',
      find: '...(await startSession(em, caller.userId)), revokesCredentials: true }',
      replace: '...(await startSession(em, caller.userId)) }',
      tests: ['test/auth/revocation.test.ts > without a notification'],
    },
    {
      title: 'a session of a deleted user gets another response than 401',
      find: "if (!user) throw revokedCredential('session');",
      replace: 'if (!user) throw new InvalidRequest([]);',
      tests: revocation,
    },
    {
      title: 'a transaction is open while the new password is hashed',
      find: `const passwordHash = await hashPassword(body.new, { userId: caller.userId });
      return db.transaction(async (em) => {`,
      replace: `return db.transaction(async (em) => {
        const passwordHash = await hashPassword(body.new, { userId: caller.userId });`,
      tests: ['test/auth/hashing-without-transaction.test.ts > PUT /api/session/password'],
    },
    {
      title: 'a session that began with the old password survives its change',
      find: 'if (!(await hasPassword(em, user))) throw wrongCredentials();',
      replace: '',
    },
    {
      title: 'of two concurrent password changes both succeed',
      find: 'if (!(await hasPassword(em, user))) throw new InvalidRequest([wrongCurrentPassword]);',
      replace: '',
    },
    {
      title: 'the current password can be guessed without a limit',
      find: 'signIn.check(email, body.current, address)',
      replace: 'signIn.check(email, body.current, `${address} ${performance.now()}`)',
    },
    {
      title: 'a new password does not replace the old one',
      find: '        await em.nativeUpdate(UserEntity, { id: caller.userId }, { passwordHash });\n',
      replace: '        if (!passwordHash) return startSession(em, caller.userId);\n',
    },
    {
      title: 'a sign-in does not wait for a change of the password',
      find: ', { lockMode: LockMode.PESSIMISTIC_WRITE })',
      replace: ', { lockMode: LockMode.NONE })',
    },
    {
      title: 'signing out leaves the session in the cache',
      find: 'deleted: true }, revokesCredentials: true, sessionToken: null }',
      replace: 'deleted: true }, sessionToken: null }',
      tests: ['test/auth/revocation.test.ts > without a notification'],
    },
    {
      title: 'signing out ends all sessions of the user',
      find: 'em.nativeDelete(SessionEntity, { id: sessionOf(caller).id })',
      replace: 'em.nativeDelete(SessionEntity, {})',
      tests: ['test/accounts/delete-session.test.ts'],
    },
    {
      title: 'signing out keeps the cookie',
      find: ', sessionToken: null };',
      replace: ' };',
      tests: ['test/accounts/delete-session.test.ts'],
    },
    {
      title: 'a user can have any number of sessions',
      find: 'offset: maxSessions });',
      replace: 'offset: maxSessions * 1000 });',
      tests: createSession,
    },
    {
      title: 'the newest session is ended if there are too many',
      find: "{ orderBy: { id: 'desc' }, offset: maxSessions }",
      replace: "{ orderBy: { id: 'asc' }, offset: maxSessions }",
      tests: createSession,
    },
  ]),
  ...faultsIn({ file: 'src/accounts/keys.handlers.ts', tests: createKey }, [
    { title: 'a key can grant scopes that it does not have', find: 'if (missing.length > 0) {', replace: 'if (missing.length > 6) {' },
    {
      title: 'a key that expires can create one that expires later',
      find: 'if (own && (!expiresAt || expiresAt > own)) {',
      replace: 'if (own && !expiresAt) {',
    },
    {
      title: 'a key that expires creates keys that do not expire',
      find: 'body.expires_at === undefined ? ownExpiry(caller)',
      replace: 'body.expires_at === undefined ? null',
    },
    {
      title: 'the creator of a key is not stored, so that deleting it leaves its keys alive',
      find: 'createdBy: caller.key?.id ?? null }',
      replace: 'createdBy: null }',
      tests: ['test/accounts/delete-key.test.ts'],
    },
    {
      title: 'the oldest keys are listed first',
      find: "selectFrom(ApiKeyEntity).orderBy('id', 'desc')",
      replace: "selectFrom(ApiKeyEntity).orderBy('id', 'asc')",
      tests: ['test/accounts/list-keys.test.ts'],
    },
    {
      title: 'a new key can be replayed, and so is stored',
      find: "created: { name: 'API key', id: row.id }, containsSecret: true };",
      replace: "created: { name: 'API key', id: row.id } };",
      tests: ['test/db/idempotency.test.ts > repeated creation of a key'],
    },
    {
      title: 'deleting a key deletes all keys of its user',
      find: 'em.nativeDelete(ApiKeyEntity, { id: path.id })',
      replace: 'em.nativeDelete(ApiKeyEntity, {})',
      tests: ['test/accounts/delete-key.test.ts'],
    },
    {
      title: 'a key can delete any key of its user',
      find: 'if (caller.key && !(await',
      replace: 'if (caller.key && caller.userId < 0 && !(await',
      tests: ['test/accounts/delete-key.test.ts'],
    },
    {
      title: 'a deleted key works in this process until its cache expires',
      find: 'deleted: true }, revokesCredentials: true };',
      replace: 'deleted: true } };',
      tests: ['test/auth/revocation.test.ts > without a notification'],
    },
  ]),
  ...faultsIn({ file: 'src/accounts/keys.ts', tests: createKey }, [
    { title: 'a user can have 1,000 keys', find: 'const maxKeys = 100;', replace: 'const maxKeys = 1000;' },
    { title: 'a key can create 100 keys', find: 'const maxDescendants = 10;', replace: 'const maxDescendants = 100;' },
    {
      title: 'expired keys count toward the quota',
      find: "  await em.nativeDelete(ApiKeyEntity, { expiresAt: { $lte: raw('app_now()') } });\n",
      replace: '',
    },
    {
      title: 'only direct descendants of a key count',
      find: ".innerJoin('api_keys as k', 'k.created_by', 'descendants.id')",
      replace: ".innerJoin('api_keys as k', (join) => join.onRef('k.created_by', '=', 'descendants.id').on('k.id', '<', 0))",
    },
  ]),
  ...faultsIn({ file: 'src/accounts/users.handlers.ts', tests: ['test/accounts/create-user.test.ts'] }, [
    {
      title: 'everybody can sign up although sign-up is closed',
      find: 'if (!signupOpen) throw',
      replace: 'if (signupOpen === undefined) throw',
    },
    {
      title: 'signing up with an address that is taken is an internal error',
      find: 'if (userId === undefined) throw',
      replace: 'if (userId === null) throw',
    },
  ]),
];
