// The thread behind stall.ts. It sleeps again and again, and notes down every time that it was woken too late. It does nothing
// else, so only the machine can delay it: neither the event loop of the test nor the service.
import { workerData } from 'node:worker_threads';
import { periodNs, StallLog } from './stall-log.ts';

const log = new StallLog(workerData);
const nothing = new Int32Array(new SharedArrayBuffer(4));
const periodMs = Number(periodNs) / 1e6;

for (;;) {
  Atomics.wait(nothing, 0, 0, periodMs);
  log.beat(process.hrtime.bigint());
}
