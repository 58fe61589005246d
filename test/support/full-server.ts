import { Worker } from 'node:worker_threads';

/** Listens, fills its queue of connections, and is then busy forever. It begins to connect in the next tick. */
const script = `
  const { connect, createServer } = require('node:net');
  const { parentPort, workerData: host } = require('node:worker_threads');
  const server = createServer().listen({ host, port: 0, backlog: 1 }, () => {
    const { port } = server.address();
    for (let i = 0; i < 10; i++) connect(port, host);
    process.nextTick(() => {
      parentPort.postMessage(port);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
  });
`;

/** A server that does not respond to connections, because it has not accepted as many as it queues. */
export async function startFullServer(host: string): Promise<{ port: number; close(): Promise<unknown> }> {
  const worker = new Worker(script, { eval: true, workerData: host });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { port, close: () => worker.terminate() };
}
