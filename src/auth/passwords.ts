import { hash, verify } from '@node-rs/argon2';

// argon2id (the binding's default) with the parameters that OWASP recommends first: 19 MiB, 2 passes, 1 lane. Each run takes
// 19 MiB and a thread for about 40 ms, so only a few run at the same time and the rest wait.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const maxConcurrent = 4;

let running = 0;
const waiting: (() => void)[] = [];

export function hashPassword(password: string): Promise<string> {
  return whenSlotIsFree(() => hash(password, cost));
}

export function verifyPassword(stored: string, password: string): Promise<boolean> {
  return whenSlotIsFree(() => verify(stored, password));
}

async function whenSlotIsFree<T>(work: () => Promise<T>): Promise<T> {
  if (running >= maxConcurrent) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
