import type { Socket } from 'node:net';
import type pg from 'pg';

/** The SQLSTATE of a write on a server that only reads. */
export const readOnlyCode = '25006';

/** Fails the pending queries of a connection. The message makes callers treat the failure as temporary. */
export function closeConnection(client: pg.Client, reason: string): void {
  client.connection.stream.destroy(new Error(`Connection terminated: ${reason}`));
}

/** Closes a connection on which nothing is sent or received for this long. */
export function closeWhenSilent(client: pg.Client, silenceMs: number): void {
  const socket = client.connection.stream as Socket;
  socket.setTimeout(silenceMs, () => closeConnection(client, 'the database does not respond'));
}

/** A server that rejects writes is no longer the primary. The next connection finds the new one, directly or through a proxy. */
export function closeWhenReadOnly(client: pg.Client): void {
  client.connection.on('errorMessage', ({ code }: { code?: string }) => {
    if (code === readOnlyCode) closeConnection(client, 'the database server does not accept writes');
  });
}
