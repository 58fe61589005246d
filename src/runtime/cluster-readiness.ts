// The primary has no connection to the database, so it asks the workers whether they can serve requests.
import type { Worker } from 'node:cluster';
import type { ReadinessCheck } from '../http/health.ts';

const request = { type: 'sitekeeper:readiness-request' };
type Response = { type: 'sitekeeper:readiness'; reason: string | undefined };

/** A worker that is dying or stuck does not respond. A worker waits up to 2 seconds for the database. */
const timeoutMs = 2500;

/** For the primary: returns why none of the workers is ready, or undefined as soon as one is. */
export async function clusterReadiness(workers: Worker[]): Promise<string | undefined> {
  if (workers.length === 0) return 'no worker serves requests yet';
  try {
    await Promise.any(workers.map(requireReadiness));
    return undefined;
  } catch (error) {
    return (error as AggregateError).errors[0].message;
  }
}

/** For a worker: responds to the primary. */
export function reportReadiness(check: ReadinessCheck): void {
  process.on('message', async ({ type }: { type?: string }) => {
    if (type !== request.type) return;
    const response: Response = { type: 'sitekeeper:readiness', reason: await check() };
    if (process.connected) process.send?.(response);
  });
}

async function requireReadiness(worker: Worker): Promise<void> {
  const reason = await ask(worker);
  if (reason !== undefined) throw new Error(reason);
}

function ask(worker: Worker): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (reason: string | undefined) => {
      clearTimeout(timer);
      worker.off('message', listener);
      resolve(reason);
    };
    const listener = ({ type, reason }: Partial<Response>) => {
      if (type === 'sitekeeper:readiness') end(reason);
    };
    const timer = setTimeout(end, timeoutMs, 'no worker responds');
    worker.on('message', listener);
    worker.send(request);
  });
}
