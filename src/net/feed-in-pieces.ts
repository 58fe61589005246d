import type { Duplex } from 'node:stream';
import { inTurn } from './turns.ts';

/** How the next bytes are parsed. */
export interface Portion {
  /** The size of a piece. The parser cannot be stopped within it. */
  bytes: number;
  /** Whether a piece waits for a turn of the user. */
  inTurn: boolean;
}

/**
 * Hands what a socket receives to its parser in small pieces: those that `portion` asks for, or everything if it is undefined.
 * Nothing more is read until they are parsed, or while the socket is paused. The work counts as that of the user.
 */
export function feedInPieces(socket: Duplex, userId: number, portion: () => Portion | undefined) {
  const push = socket.push.bind(socket);
  const read = socket._read.bind(socket);
  const waiting: (Buffer | null)[] = [];
  let isFeeding = false;
  const pushNext = () => {
    // The piece before may have ended the connection, or paused it.
    if (!socket.destroyed && !socket.isPaused()) push(waiting.shift() ?? null);
  };
  const feed = async () => {
    if (isFeeding) return;
    isFeeding = true;
    while (waiting.length > 0 && !socket.destroyed && !socket.isPaused()) await inTurn('parsing', userId, pushNext);
    isFeeding = false;
  };
  socket.on('resume', () => void feed());
  socket._read = (size) => {
    if (waiting.length === 0) read(size);
  };
  socket.push = (chunk: Buffer | null) => {
    let rest = chunk;
    let next = portion();
    while (rest && next && !next.inTurn && rest.length > next.bytes && waiting.length === 0 && !socket.destroyed) {
      push(rest.subarray(0, next.bytes));
      rest = rest.subarray(next.bytes);
      next = portion(); // The piece may have contained the end of the head.
    }
    if (socket.destroyed) return true;
    if (waiting.length === 0 && !(rest && next?.inTurn)) return push(rest);
    waiting.push(...(rest ? cut(rest, next?.bytes ?? rest.length) : [null]));
    void feed();
    return false;
  };
}

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}
