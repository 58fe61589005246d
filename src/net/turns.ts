/** How long the work of one turn may take. Then other events get their turn. */
const turnMs = 10;

export type Work = 'starting' | 'parsing' | 'searching';

interface Queue {
  waiting: (() => void)[];
  /** How long its work has taken, apart from what it gave up while nothing was waiting. */
  usedMs: number;
}

/**
 * There is one for each kind of work of each user. They share the time of the turns equally: responses are parsed in time, however many
 * checks start or search, and however much work the targets of another user make.
 */
const queues = new Map<string, Queue>();
/** Those in which something waits. */
const busy = new Set<Queue>();

let hasTurn = false;
/** What the queue that worked last had used before. */
let servedMs = 0;

/**
 * Runs a small piece of heavy work for a user in a later turn of the event loop. All callers share the time of a turn, so the process
 * goes on responding, however many of them there are. A caller that adds its next piece when the last one is done takes turns with the
 * other callers of the queue.
 */
export function inTurn<T>(kind: Work, userId: number, work: () => T): Promise<T> {
  const queue = queueOf(`${kind} ${userId}`);
  return new Promise((resolve, reject) => {
    // Otherwise a queue that had nothing to do could later keep the other ones waiting for just as long.
    if (queue.waiting.length === 0) queue.usedMs = Math.max(queue.usedMs, servedMs);
    queue.waiting.push(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
    busy.add(queue);
    if (!hasTurn) setImmediate(runTurn);
    hasTurn = true;
  });
}

function queueOf(key: string): Queue {
  const queue = queues.get(key) ?? { waiting: [], usedMs: 0 };
  queues.set(key, queue);
  return queue;
}

function runTurn() {
  const endMs = performance.now() + turnMs;
  const runNext = () => {
    const queue = leastServed();
    if (!queue) return stop();
    const startMs = performance.now();
    servedMs = queue.usedMs;
    queue.waiting.shift()?.();
    if (queue.waiting.length === 0) busy.delete(queue);
    const nowMs = performance.now();
    queue.usedMs += nowMs - startMs;
    // What a piece causes comes before the next one: it may end the connection, or add another piece to this turn.
    if (nowMs < endMs) queueMicrotask(() => process.nextTick(runNext));
    else setImmediate(runTurn);
  };
  runNext();
}

/** Nobody waits, so nobody is ahead of anybody. */
function stop() {
  hasTurn = false;
  queues.clear();
  servedMs = 0;
}

/** Returns the queue that has used the least time, of those in which something is waiting. */
function leastServed(): Queue | undefined {
  let least: Queue | undefined;
  for (const queue of busy) if (!least || queue.usedMs < least.usedMs) least = queue;
  return least;
}
