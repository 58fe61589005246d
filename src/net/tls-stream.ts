import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { Worker } from 'node:worker_threads';
import { NetworkError } from './network-error.ts';
import type { Command, Report, TlsOptions } from './tls-thread.ts';

/** The certificates of a handshake need a few kilobytes. Verifying more than this could take a second. */
const maxHandshakeBytes = 32 * 1024;
/** How many more bytes than the content a server may send: the handshake and the frames of TLS. */
const maxOtherBytes = 320 * 1024;

/** The client's side of a TLS connection. The socket belongs to it. A thread encrypts and decrypts. */
export class TlsStream extends Duplex {
  readonly #socket: Socket;
  readonly #thread: TlsThread;
  readonly #id: number;
  readonly #userId: number;
  /** Whether the TLS handshake has succeeded. */
  isSecure = false;
  /** The protocol that the server chose in the handshake. */
  protocol: string | false | null = null;
  /** The number of decrypted bytes. */
  bytesRead = 0;
  #isReading = false;
  /** Whether the thread has bytes of this connection that it has not handled yet. */
  #isHandling = false;
  #failure: Error | undefined;

  constructor(socket: Socket, userId: number, options: TlsOptions) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#userId = userId;
    this.#thread = TlsThread.get();
    this.#id = this.#thread.open(this, options);
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.once('end', () => this.#receive(null));
    socket.once('error', (error) => this.#fail(error));
  }

  get connecting(): boolean {
    return this.#socket.connecting;
  }

  /** Passes bytes of the server on to the thread, and no more until it has handled them. */
  #receive(bytes: Buffer | null) {
    const limit = this.isSecure ? maxOtherBytes : maxHandshakeBytes;
    if (this.#socket.bytesRead - this.bytesRead > limit) return void this.destroy(tooMuch());
    this.#socket.pause();
    this.#isHandling = true;
    this.#thread.decrypt(this.#id, this.#userId, bytes && new Uint8Array(bytes));
  }

  /** Handles what the thread reports about this connection. */
  handle(report: Report) {
    if (this.destroyed) return;
    if ('send' in report) this.#send(report.send);
    else if ('expiresAt' in report) this.emit('certificate', report.expiresAt);
    else if ('secure' in report) this.#setSecure(report.secure.protocol);
    else if ('data' in report) this.#addContent(Buffer.from(report.data.buffer));
    else if ('end' in report) this.push(null);
    else if ('error' in report) this.destroy(Object.assign(new Error(report.error.message), { code: report.error.code }));
    else this.#goOn();
  }

  /** The bytes before a failure count: they may complete the response. */
  #fail(error: Error) {
    if (this.#isHandling) this.#failure = error;
    else this.destroy(error);
  }

  /** A server that has ended its side gets no more. */
  #send(bytes: Uint8Array) {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  #setSecure(protocol: string | false | null) {
    this.isSecure = true;
    this.protocol = protocol;
    this.emit('secureConnect');
  }

  #addContent(content: Buffer) {
    this.bytesRead += content.length;
    if (!this.push(content)) this.#isReading = false;
  }

  #goOn() {
    this.#isHandling = false;
    if (this.#failure) this.destroy(this.#failure);
    else if (this.#isReading || !this.isSecure) this.#socket.resume();
  }

  override _read() {
    this.#isReading = true;
    if (!this.#isHandling) this.#socket.resume();
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void) {
    this.#thread.post({ id: this.#id, write: new Uint8Array(bytes) });
    done();
  }

  override _final(done: () => void) {
    done(); // The connection is for one request, and is closed after its response.
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void) {
    this.#thread.close(this.#id);
    this.#socket.destroy();
    done(error);
  }
}

const tooMuch = () => new NetworkError('tls', 'the server sent too much for a TLS handshake');

/** The thread of all TLS connections of this process. */
class TlsThread {
  static #current: TlsThread | undefined;

  /** Returns the thread, and starts one if there is none or it has died. */
  static get(): TlsThread {
    TlsThread.#current ??= new TlsThread();
    return TlsThread.#current;
  }

  readonly #worker = new Worker(new URL(`./tls-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
  readonly #streams = new Map<number, TlsStream>();
  #authorities: string[] | undefined;
  #nextId = 1;
  #commands: Command[] = [];
  /** Users whose bytes wait. The thread handles one piece at a time, of each user in turn, so that costly ones delay only their user. */
  readonly #waiting = new Map<number, Command[]>();
  #isBusy = false;

  private constructor() {
    this.#worker.on('message', (reports: Report[]) => {
      for (const report of reports) {
        this.#streams.get(report.id)?.handle(report);
        if ('handled' in report) this.#handleNext();
      }
    });
    this.#worker.once('error', (error) => this.#fail(error));
    this.#worker.once('exit', () => this.#fail(new Error('the TLS thread has ended')));
  }

  open(stream: TlsStream, options: TlsOptions): number {
    const authorities = tls.getCACertificates('default'); // The same array until the default changes.
    if (authorities !== this.#authorities) this.post({ authorities });
    this.#authorities = authorities;
    const id = this.#nextId++;
    this.#streams.set(id, stream);
    this.#worker.ref();
    this.post({ id, open: options });
    return id;
  }

  /** Decrypts bytes when it is the turn of the user. The stream is told when they have been handled. */
  decrypt(id: number, userId: number, received: Uint8Array | null) {
    const commands = this.#waiting.get(userId) ?? [];
    commands.push({ id, received });
    this.#waiting.set(userId, commands);
    if (!this.#isBusy) this.#handleNext();
  }

  close(id: number) {
    if (this.#streams.delete(id)) this.post({ id, close: true });
    if (this.#streams.size === 0) this.#worker.unref(); // An idle thread does not keep the process running.
  }

  /** Sends a command with the others of this turn, because a message costs much. Bytes must have a buffer of their own: all of it is copied. */
  post(command: Command) {
    if (this.#commands.length === 0) setImmediate(() => this.#worker.postMessage(this.#commands.splice(0)));
    this.#commands.push(command);
  }

  #handleNext() {
    const [first] = this.#waiting;
    this.#isBusy = first !== undefined;
    if (!first) return;
    const [userId, commands] = first;
    const command = commands.shift();
    this.#waiting.delete(userId);
    if (commands.length > 0) this.#waiting.set(userId, commands); // Behind the other users.
    if (command) this.post(command);
  }

  /** A thread that has died is replaced by the next connection. This says nothing about the targets. */
  #fail(cause: Error) {
    if (TlsThread.#current === this) TlsThread.#current = undefined;
    for (const stream of this.#streams.values()) stream.destroy(new NetworkError('local', 'the TLS thread has ended', { cause }));
    this.#streams.clear();
  }
}
