import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { feedInPieces, type Portion } from '../../src/net/feed-in-pieces.ts';
import { inTurn } from '../../src/net/turns.ts';

const opened: { close(): unknown }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

/** Returns a socket that receives these bytes in pieces, and what its parser gets. */
async function receive(bytes: Buffer, portion: () => Portion | undefined) {
  const server = createServer((socket) => socket.on('error', () => {}).end(bytes)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  opened.push(server, { close: () => socket.destroy() });
  const pieces: Buffer[] = [];
  feedInPieces(socket, 1, portion);
  socket.on('data', (piece) => pieces.push(piece));
  return { socket, pieces };
}

const read = ({ bytesRead }: Socket) => bytesRead;
const small = { bytes: 1000, inTurn: true };

test('all bytes arrive in small pieces, in order, and then the end', async () => {
  const bytes = randomBytes(300_000);
  const { socket, pieces } = await receive(bytes, () => small);
  await once(socket, 'end');
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(1000);
});

test('the size of the pieces can change with each of them, and everything else arrives whole', async () => {
  const bytes = randomBytes(50_000);
  let count = 0;
  const { socket, pieces } = await receive(bytes, () => (pieces.length < 3 ? { bytes: ++count, inTurn: false } : undefined));
  await once(socket, 'end');
  expect(pieces.slice(0, 3).map(({ length }) => length)).toEqual([1, 2, 3]);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeGreaterThan(10_000);
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
});

test('nothing more is read while pieces wait for a turn', async () => {
  const { socket, pieces } = await receive(randomBytes(3_000_000), () => small);
  // This piece is never done before the next one of the socket, because it takes turns with it.
  let mostRead = 0;
  while (!socket.readableEnded) {
    await inTurn('parsing', 1, () => {
      mostRead = Math.max(mostRead, read(socket) - 1000 * pieces.length);
    });
    await nextTurn();
  }
  expect(mostRead).toBeGreaterThan(1000);
  expect(mostRead).toBeLessThan(200_000);
});

test('a paused socket gets no piece and reads nothing more, until it is resumed', async () => {
  const bytes = randomBytes(3_000_000);
  const { socket, pieces } = await receive(bytes, () => small);
  const ended = once(socket, 'end');
  let paused = 0;
  socket.on('data', async () => {
    if (pieces.length % 50 !== 0) return;
    // The next piece is already waiting for its turn, every other time.
    if (pieces.length % 100 === 0) for (let reactions = 0; reactions < 10; reactions++) await Promise.resolve();
    socket.pause();
    const [count, bytesRead] = [pieces.length, read(socket)];
    void inTurn('parsing', 1, async () => {
      for (let turn = 0; turn < 3; turn++) await nextTurn();
      expect([pieces.length, read(socket)]).toEqual([count, bytesRead]);
      paused++;
      socket.resume();
    });
  });
  await ended;
  expect(paused).toBeGreaterThanOrEqual(50);
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
});

test('pieces do not wait for all searches that came before them', async () => {
  let [nowMs, searched, searchedBefore] = [performance.now(), 0, -1];
  const now = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => now.mockRestore());
  const { socket, pieces } = await receive(randomBytes(10_000), () => small);
  socket.on('data', () => {
    if (pieces.length === 10) searchedBefore = searched;
    if (pieces.length > 1) return;
    for (let index = 0; index < 1000; index++) {
      void inTurn('searching', 1, () => {
        nowMs += 5;
        searched++;
      });
    }
  });
  await once(socket, 'end');
  expect(searchedBefore).toBeGreaterThanOrEqual(0);
  expect(searchedBefore).toBeLessThan(10);
});

test('a socket that was destroyed gets no further piece', async () => {
  const { socket, pieces } = await receive(randomBytes(100_000), () => small);
  socket.on('data', () => {
    if (pieces.length === 5) socket.destroy();
  });
  await once(socket, 'close');
  await inTurn('parsing', 1, () => {});
  expect(pieces).toHaveLength(5);
});
