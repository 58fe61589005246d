import { hash, verify } from '@node-rs/argon2';

// argon2id with the parameters OWASP gives as its first choice: 19 MiB, 2 passes, 1 lane. The binding's default
// algorithm is argon2id. Each run holds 19 MiB and a thread for ~40 ms, so only a few run at once and the rest wait.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const atOnce = 4;

let running = 0;
const waiting: (() => void)[] = [];

export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, cost));
}

export function verifyPassword(stored: string, password: string): Promise<boolean> {
  return inTurn(() => verify(stored, password));
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
