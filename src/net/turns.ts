/** How long the work of one turn may take. Then other events get their turn. */
const turnMs = 10;

export type Work = 'starting' | 'parsing' | 'searching' | 'decrypting';

/** A part of the time, which is shared equally. */
interface Share {
  /** How long its work has taken, apart from what it gave up while nothing was waiting. */
  usedMs: number;
}

/** The work of one kind for one user. */
interface Queue extends Share {
  waiting: (() => void)[];
}

interface Kind extends Share {
  queues: Map<number, Queue>;
  /** Those in which something waits. */
  busy: Set<Queue>;
  /** What the queue that worked last had used before. */
  servedMs: number;
}

/**
 * The kinds share the time of the turns equally, and the users share that of each kind: responses are parsed in time, however many
 * checks start or search, and however much work the targets of other users make.
 */
const kinds = new Map<Work, Kind>();

let hasTurn = false;
/** What the kind that worked last had used before. */
let servedMs = 0;

/**
 * Runs a small piece of heavy work for a user in a later turn of the event loop. All callers share the time of a turn, so the process
 * goes on responding, however many of them there are. A caller that adds its next piece when the last one is done takes turns with the
 * other callers of the queue.
 */
export function inTurn<T>(work: Work, userId: number, piece: () => T): Promise<T> {
  const kind = kindOf(work);
  const queue = queueOf(kind, userId);
  return new Promise((resolve, reject) => {
    // Otherwise one that had nothing to do could later keep the other ones waiting for just as long.
    if (kind.busy.size === 0) kind.usedMs = Math.max(kind.usedMs, servedMs);
    if (queue.waiting.length === 0) queue.usedMs = Math.max(queue.usedMs, kind.servedMs);
    queue.waiting.push(() => {
      try {
        resolve(piece());
      } catch (error) {
        reject(error);
      }
    });
    kind.busy.add(queue);
    if (!hasTurn) setImmediate(runTurn);
    hasTurn = true;
  });
}

function kindOf(work: Work): Kind {
  const kind = kinds.get(work) ?? { usedMs: 0, queues: new Map(), busy: new Set(), servedMs: 0 };
  kinds.set(work, kind);
  return kind;
}

function queueOf({ queues }: Kind, userId: number): Queue {
  const queue = queues.get(userId) ?? { usedMs: 0, waiting: [] };
  queues.set(userId, queue);
  return queue;
}

function runTurn() {
  const endMs = performance.now() + turnMs;
  const runNext = () => {
    const kind = leastServed([...kinds.values()].filter(({ busy }) => busy.size > 0));
    const queue = kind && leastServed(kind.busy);
    if (!queue) return stop();
    const startMs = performance.now();
    servedMs = kind.usedMs;
    kind.servedMs = queue.usedMs;
    queue.waiting.shift()?.();
    if (queue.waiting.length === 0) kind.busy.delete(queue);
    const nowMs = performance.now();
    kind.usedMs += nowMs - startMs;
    queue.usedMs += nowMs - startMs;
    // What a piece causes comes before the next one: it may end the connection, or add another piece to this turn.
    if (nowMs < endMs) queueMicrotask(() => process.nextTick(runNext));
    else setImmediate(() => setImmediate(runTurn)); // Also what was planned for the next turn of the event loop comes before.
  };
  runNext();
}

/** Nobody waits, so nobody is ahead of anybody. */
function stop() {
  hasTurn = false;
  kinds.clear();
  servedMs = 0;
}

function leastServed<S extends Share>(shares: Iterable<S>): S | undefined {
  let least: S | undefined;
  for (const share of shares) if (!least || share.usedMs < least.usedMs) least = share;
  return least;
}
