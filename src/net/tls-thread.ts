// Runs in a thread of its own: TLS of all connections to targets. A server can choose keys and certificates whose verification takes
// 200 ms, and OpenSSL cannot be interrupted. The sockets stay in the main thread, which exchanges bytes with this one.
import { constants } from 'node:crypto';
import { Duplex } from 'node:stream';
import tls, { type SecureContext, type TLSSocket } from 'node:tls';
import { parentPort } from 'node:worker_threads';
import { inTurn } from './turns.ts';

/** How a connection is secured. */
export interface TlsOptions {
  protocol: 'http/1.1' | 'h2';
  /** The name or the address that the certificate must be for. */
  host: string;
  /** The name that the server is asked for. Empty for an address. */
  servername: string;
  verifiesTls: boolean;
}

/** From the main thread. Each message but the first names a connection. */
export type Command =
  | { authorities: string[] }
  | { id: number; open: TlsOptions & { userId: number } }
  /** Encrypted bytes that the server has sent, or null after its last one. */
  | { id: number; received: Uint8Array | null }
  | { id: number; write: Uint8Array }
  | { id: number; close: true };

/** To the main thread. */
export type Report =
  /** Encrypted bytes for the server. */
  | { id: number; send: Uint8Array }
  /** The last bytes that were received have been handled. */
  | { id: number; handled: true }
  | { id: number; expiresAt: Date }
  | { id: number; secure: { protocol: string | false | null } }
  /** Decrypted bytes. */
  | { id: number; content: Uint8Array }
  | { id: number; end: true }
  | { id: number; error: { message: string; code?: string | undefined } };

interface OpenConnection {
  userId: number;
  /** Stands for the socket of the main thread. */
  wire: Duplex;
  socket: TLSSocket;
  /** What was decrypted, but not reported yet: a record can contain a single byte. */
  content: Buffer[];
}

const connections = new Map<number, OpenConnection>();

/** All connections share one context, because creating it takes longer than most checks. It contains no state of a connection. */
let context: SecureContext | undefined;

let reports: Report[] = [];

/** Reports together with everything else of this turn, because a message costs much. Bytes must have a buffer of their own: all of it is copied. */
function report(message: Report) {
  if (reports.length === 0) setImmediate(flush);
  reports.push(message);
}

function flush() {
  parentPort?.postMessage(reports);
  reports = [];
}

parentPort?.on('message', (commands: Command[]) => {
  for (const command of commands) execute(command);
});

function execute(command: Command) {
  if ('authorities' in command) return trust(command.authorities);
  if ('open' in command) return open(command.id, command.open);
  const connection = connections.get(command.id);
  if ('received' in command) return receive(command.id, command.received);
  if ('write' in command)
    connection?.socket.write(command.write); // Node sends nothing before it has verified the certificate.
  else connection?.socket.destroy();
}

function trust(authorities: string[]) {
  tls.setDefaultCACertificates(authorities);
  context = tls.createSecureContext({
    ciphers: `${tls.DEFAULT_CIPHERS}:!DHE`, // The server would choose a group of any size. Browsers do not offer it either.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION, // Each repeated handshake would cost as much as the first one.
  });
}

function open(id: number, { userId, protocol, host, servername, verifiesTls }: TlsOptions & { userId: number }) {
  const wire = new Duplex({
    read() {},
    write(chunk, _, done) {
      report({ id, send: new Uint8Array(chunk) });
      done();
    },
  });
  const socket = tls.connect({
    socket: wire,
    ALPNProtocols: [protocol],
    ...(context && { secureContext: context }),
    host,
    servername,
    rejectUnauthorized: verifiesTls, // NODE_TLS_REJECT_UNAUTHORIZED must not change it.
  });
  const connection: OpenConnection = { userId, wire, socket, content: [] };
  connections.set(id, connection);
  // Runs before Node verifies the certificate, because it is not available afterwards.
  socket.prependOnceListener('secure', () => {
    const expiresAt = new Date(socket.getPeerCertificate().valid_to);
    if (!Number.isNaN(expiresAt.getTime())) report({ id, expiresAt });
  });
  socket.once('secureConnect', () => report({ id, secure: { protocol: socket.alpnProtocol } }));
  socket.on('data', (data) => connection.content.push(data));
  socket.once('end', () => {
    reportContent(id, connection);
    report({ id, end: true });
  });
  socket.on('error', ({ message, code }: NodeJS.ErrnoException) => {
    reportContent(id, connection);
    report({ id, error: { message, code } });
  });
  socket.once('close', () => {
    connections.delete(id);
    wire.destroy();
  });
}

function reportContent(id: number, { content }: OpenConnection) {
  if (content.length > 0) report({ id, content: new Uint8Array(Buffer.concat(content.splice(0))) });
}

/** Decrypts bytes when it is the turn of the user, so that costly targets delay only the checks of their user. */
function receive(id: number, bytes: Uint8Array | null) {
  const connection = connections.get(id);
  if (!connection) return; // It is closed, so nobody waits for a report.
  void inTurn('decrypting', connection.userId, () => {
    connection.wire.push(bytes);
    // Whatever comes of the bytes is reported before.
    setImmediate(() => {
      reportContent(id, connection);
      report({ id, handled: true });
    });
  });
}
