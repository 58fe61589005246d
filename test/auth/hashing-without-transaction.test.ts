// Hashing a password takes long. If a transaction were open meanwhile, a few clients could keep every connection busy.
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { FairSlots } from '../../src/limits/fair-slots.ts';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

/** How many transactions are open now, and how many were open each time that a password was to be hashed or verified. */
const transactions = { open: 0, whileHashing: [] as number[] };

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  const { run } = FairSlots.prototype;
  vi.spyOn(FairSlots.prototype, 'run').mockImplementation(function (this: FairSlots, owner, work) {
    // Passwords are hashed on behalf of a user or a network. Other slots have other owners.
    if (/"userId"|"network"/.test(String(owner))) transactions.whileHashing.push(transactions.open);
    return run.call(this, owner, work);
  });
  const database = await createDatabase();
  countTransactions(database);
  service = await startService({ signupOpen: true }, { database });
  user = await service.createUser(password);
});
beforeEach(() => {
  transactions.whileHashing = [];
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.stop();
  await service.database.close();
});

function countTransactions(database: Database) {
  const [asUser, asAuthenticator] = [database.asUser.bind(database), database.asAuthenticator.bind(database)];
  const counted = async <T>(run: () => Promise<T>) => {
    transactions.open++;
    try {
      return await run();
    } finally {
      transactions.open--;
    }
  };
  database.asUser = (userId, work) => counted(() => asUser(userId, work));
  database.asAuthenticator = (work) => counted(() => asAuthenticator(work));
}

const website = { domain: 'example.com', privacy: '2', password: 'secret' };

const requests: Record<string, () => Promise<{ status: number }>> = {
  'POST /api/v1/websites': () => user.api.post('/api/v1/websites', { form: website }),
  'POST /api/v1/websites with an Idempotency-Key': () =>
    user.api.post('/api/v1/websites', { form: { ...website, domain: 'example.org' }, headers: { 'Idempotency-Key': 'once' } }),
  'PATCH /api/v1/websites/{id}': async () => {
    const { body } = await user.api.post('/api/v1/websites', { form: { domain: 'example.net' } });
    return user.api.patch(`/api/v1/websites/${body.data.id}`, { form: { privacy: '2', password: 'secret' } });
  },
  'POST /api/session': () => service.anonymous.post('/api/session', { json: { email: user.email, password } }),
  'PUT /api/session/password': async () =>
    service.anonymous.put('/api/session/password', {
      json: { current: password, new: password },
      headers: await signIn(service, user.email),
    }),
  'POST /api/users': () => service.anonymous.post('/api/users', { json: { email: 'new@example.com', password } }),
};

test.each(Object.keys(requests))('%s opens no transaction before the password is hashed', async (name) => {
  const { status } = (await requests[name]?.()) ?? {};
  expect(status).toBeGreaterThanOrEqual(200);
  expect(status).toBeLessThan(300);
  expect(new Set(transactions.whileHashing)).toEqual(new Set([0]));
});
