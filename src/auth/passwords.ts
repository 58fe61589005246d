import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { FairSlots } from '../limits/fair-slots.ts';

// argon2id (the binding's default) with the parameters that OWASP recommends first: 19 MiB, 2 passes, 1 lane. Each run takes
// 19 MiB and a thread for about 40 ms. One core stays free for requests, and one of libuv's four threads for DNS and files.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const slots = new FairSlots({ slots: Math.max(1, Math.min(3, availableParallelism() - 1)), maxWaiting: 20, maxWaitMs: 30_000 });

/** On whose behalf a password is processed: a user, or the network of a client that is not signed in. */
export type Owner = { userId: number } | { network: string };

export function hashPassword(password: string, owner: Owner): Promise<string> {
  return slots.run(JSON.stringify(owner), () => hash(password, cost));
}

export function verifyPassword(stored: string, password: string, owner: Owner): Promise<boolean> {
  return slots.run(JSON.stringify(owner), () => verify(stored, password));
}
