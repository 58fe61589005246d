import { expect, test } from 'vitest';
import { hashPassword, verifyPassword } from '../../src/auth/passwords.ts';

test('a hash matches only its password', async () => {
  const hash = await hashPassword('correct horse battery', { userId: 1 });
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await verifyPassword(hash, 'correct horse battery', { userId: 1 })).toBe(true);
  expect(await verifyPassword(hash, 'wrong horse battery', { userId: 1 })).toBe(false);
});

test('the passwords of one owner do not delay that of another', async () => {
  const order: string[] = [];
  const work = Array.from({ length: 12 }, () => hashPassword('password', { userId: 1 }).then(() => order.push('first owner')));
  work.push(hashPassword('password', { network: '192.0.2.7' }).then(() => order.push('second owner')));
  await Promise.all(work);
  // Up to 3 run at a time, and one more of the first owner can be next.
  expect(order.indexOf('second owner')).toBeLessThan(6);
});
