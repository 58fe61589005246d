import net, { type Socket, type TcpNetConnectOpts } from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { Worker } from 'node:worker_threads';
import { NetworkError } from './network-error.ts';
import type { Command, Report, TlsOptions } from './tls-thread.ts';

/** The certificates of a handshake need a few kilobytes. Verifying more than this could take a second. */
const maxHandshakeBytes = 32 * 1024;
/** How many more bytes than the content a server may send. Whoever collects the content stops earlier, but its head has no other limit. */
const maxOtherBytes = 448 * 1024;

/** What a socket has received, until it is copied at once. Without it, a socket would read on, and drop what it has read if the server resets. */
const receiveBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The client's side of a TLS connection. A thread encrypts and decrypts what its socket sends and receives. */
export class TlsStream extends Duplex {
  readonly #socket: Socket;
  #thread: TlsThread | undefined;
  #id = 0;
  /** Whether the TLS handshake has succeeded. */
  isSecure = false;
  /** The protocol that the server chose in the handshake. */
  protocol: string | false | null = null;
  /** The number of decrypted bytes. */
  bytesRead = 0;
  /** The number of encrypted bytes that have been handled. */
  encryptedBytesRead = 0;
  #isReading = false;
  /** Whether the thread has bytes of this connection that it has not handled yet. */
  #isHandling = false;
  #failure: Error | undefined;

  constructor(target: TcpNetConnectOpts, userId: number, options: TlsOptions) {
    super({ allowHalfOpen: false });
    const callback = (size: number) => this.#receive(new Uint8Array(receiveBuffer.subarray(0, size)));
    this.#socket = net.connect({ ...target, onread: { buffer: receiveBuffer, callback } });
    this.#socket.once('connect', () => {
      this.#thread = TlsThread.get();
      this.#id = this.#thread.open(this, { ...options, userId });
    });
    this.#socket.once('end', () => this.#receive(null));
    this.#socket.once('error', (error) => this.#fail(error));
  }

  get connecting(): boolean {
    return this.#socket.connecting;
  }

  /** Passes bytes of the server on to the thread. Returns false, so that the socket reads nothing more until it has handled them. */
  #receive(bytes: Uint8Array | null): boolean {
    if (!this.isSecure && this.#socket.bytesRead > maxHandshakeBytes) this.#fail(tooMuch('for a TLS handshake'));
    this.#isHandling = true;
    this.#thread?.post({ id: this.#id, received: bytes });
    return false;
  }

  /** Handles what the thread reports about this connection. */
  handle(report: Report) {
    if (this.destroyed) return;
    if ('send' in report) this.#send(report.send);
    else if ('expiresAt' in report) this.emit('certificate', report.expiresAt);
    else if ('secure' in report) this.#setSecure(report.secure.protocol);
    else if ('content' in report) this.#addContent(Buffer.from(report.content.buffer));
    else if ('end' in report) this.push(null);
    else if ('error' in report) this.#fail(Object.assign(new Error(report.error.message), { code: report.error.code }));
    else this.#setHandled();
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

  #setHandled() {
    this.#isHandling = false;
    this.encryptedBytesRead = this.#socket.bytesRead;
    if (this.encryptedBytesRead - this.bytesRead > maxOtherBytes) this.#fail(tooMuch('besides the content'));
    else this.#goOn();
  }

  #fail(error: Error) {
    this.#failure ??= error;
    this.#goOn();
  }

  /** Reads on when everything before has been handled, and read. A failure counts only then: the bytes before it may complete the response. */
  #goOn() {
    if (this.#isHandling || (this.isSecure && !this.#isReading)) return;
    if (this.#failure) this.destroy(this.#failure);
    else this.#socket.resume();
  }

  override _read() {
    this.#isReading = true;
    this.#goOn();
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: () => void) {
    if (this.connecting) return void this.#socket.once('connect', () => this._write(bytes, encoding, done));
    if (bytes.length > 0) this.#thread?.post({ id: this.#id, write: new Uint8Array(bytes) });
    done();
  }

  override _final(done: () => void) {
    done(); // The connection is for one request, and is closed after its response.
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void) {
    this.#thread?.close(this.#id);
    this.#socket.destroy();
    done(error);
  }
}

const tooMuch = (what: string) => new NetworkError('tls', `the server sent too much ${what}`);

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

  private constructor() {
    this.#worker.on('message', (reports: Report[]) => {
      for (const report of reports) this.#streams.get(report.id)?.handle(report);
    });
    this.#worker.once('error', (error) => this.#fail(error));
    this.#worker.once('exit', () => this.#fail(new Error('the TLS thread has ended')));
  }

  open(stream: TlsStream, options: TlsOptions & { userId: number }): number {
    const authorities = tls.getCACertificates('default'); // The same array until the default changes.
    if (authorities !== this.#authorities) this.post({ authorities });
    this.#authorities = authorities;
    const id = this.#nextId++;
    this.#streams.set(id, stream);
    this.#worker.ref();
    this.post({ id, open: options });
    return id;
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

  /** A thread that has died is replaced by the next connection. This says nothing about the targets. */
  #fail(cause: Error) {
    if (TlsThread.#current === this) TlsThread.#current = undefined;
    for (const stream of this.#streams.values()) stream.destroy(new NetworkError('local', 'the TLS thread has ended', { cause }));
    this.#streams.clear();
  }
}
