/** How long the work of one turn may take. Then other events get their turn. */
const turnMs = 10;

interface Queue {
  waiting: (() => void)[];
  /** How long its work has taken, apart from what it gave up while nothing was waiting. */
  usedMs: number;
}

/** They share the time of the turns equally: however many checks start or search, responses are still parsed in time. */
const queues = {
  starting: { waiting: [], usedMs: 0 } as Queue,
  parsing: { waiting: [], usedMs: 0 } as Queue,
  searching: { waiting: [], usedMs: 0 } as Queue,
};

let hasTurn = false;
/** What the queue that worked last had used before. */
let servedMs = 0;

/**
 * Runs a small piece of heavy work in a later turn of the event loop. All callers share the time of a turn, so the process goes
 * on responding, however many of them there are. A caller that adds its next piece when the last one is done takes turns with the
 * other callers of the queue.
 */
export function inTurn<T>(queueName: keyof typeof queues, work: () => T): Promise<T> {
  const queue = queues[queueName];
  return new Promise((resolve, reject) => {
    // Otherwise a queue that had nothing to do could later keep the other one waiting for just as long.
    if (queue.waiting.length === 0) queue.usedMs = Math.max(queue.usedMs, servedMs);
    queue.waiting.push(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
    if (!hasTurn) setImmediate(runTurn);
    hasTurn = true;
  });
}

function runTurn() {
  const endMs = performance.now() + turnMs;
  const runNext = () => {
    const queue = nextQueue();
    hasTurn = queue !== undefined;
    if (!queue) return;
    const startMs = performance.now();
    servedMs = queue.usedMs;
    queue.waiting.shift()?.();
    const nowMs = performance.now();
    queue.usedMs += nowMs - startMs;
    // What a piece causes comes before the next one: it may end the connection, or add another piece to this turn.
    if (nowMs < endMs) queueMicrotask(() => process.nextTick(runNext));
    else setImmediate(runTurn);
  };
  runNext();
}

/** Returns the queue that has used less time, if something is waiting in it. */
function nextQueue(): Queue | undefined {
  const busy = Object.values(queues).filter(({ waiting }) => waiting.length > 0);
  return busy.reduce<Queue | undefined>((least, queue) => (least && least.usedMs <= queue.usedMs ? least : queue), undefined);
}
