import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import tls, { type TLSSocket, type TlsOptions } from 'node:tls';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { feedInPieces } from '../../src/net/feed-in-pieces.ts';
import { TlsStream } from '../../src/net/tls-stream.ts';
import { inTurn } from '../../src/net/turns.ts';
import {
  type Authority,
  type Certificate,
  createAuthority,
  createCostlyChain,
  createRsaCertificate,
  trust,
} from '../support/certificates.ts';
import { collectOutput } from '../support/process.ts';

let authority: Authority;
let trusted: Certificate;
/** The most certificates that fit into a handshake. Verifying them takes more than 100 ms. */
let costly: Certificate;
let tooLong: Certificate;

beforeAll(async () => {
  authority = await createAuthority();
  trust(authority);
  [trusted, costly, tooLong] = await Promise.all([authority.issue('shop.example'), createCostlyChain(50), createCostlyChain(90)]);
});

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

/** Starts a server, and returns its port. */
async function serve(
  options: TlsOptions,
  onConnection: (socket: TLSSocket) => void = (socket) => socket.end('done'),
  onClose = () => {},
): Promise<number> {
  const sockets = new Set<Socket>();
  const server = tls.createServer(options, (socket) => {
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.on('tlsClientError', () => {});
  server.on('connection', (socket) => sockets.add(socket.once('close', onClose)));
  cleanUps.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function connect(port: number, { userId = 1, verifiesTls = true, host = 'shop.example' } = {}): TlsStream {
  const options = { protocol: 'http/1.1' as const, host, servername: host === '127.0.0.1' ? '' : host, verifiesTls };
  const stream = new TlsStream({ port, host: '127.0.0.1' }, userId, options);
  cleanUps.push(() => stream.destroy());
  return stream.on('error', () => {});
}

/** Resolves with everything that the server sends, or rejects with the error of the connection. */
async function read(stream: TlsStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

test('delivers what both sides send, and says what was agreed on', async () => {
  const port = await serve({ ...trusted, ALPNProtocols: ['http/1.1'] }, (socket) =>
    socket.once('data', (data) => socket.end(`got ${data}`)),
  );
  const stream = connect(port);
  const certificate = once(stream, 'certificate');
  stream.write('hello');
  expect(await read(stream)).toBe('got hello');
  expect({ isSecure: stream.isSecure, protocol: stream.protocol, bytesRead: stream.bytesRead }).toEqual({
    isSecure: true,
    protocol: 'http/1.1',
    bytesRead: 9,
  });
  expect((await certificate)[0]).toBeInstanceOf(Date);
});

test('sends nothing to a server whose certificate is not trusted', async () => {
  let received = 0;
  const closed = Promise.withResolvers<void>();
  const port = await serve(
    await createRsaCertificate(),
    (socket) => {
      socket.on('data', ({ length }) => {
        received += length;
      });
    },
    () => closed.resolve(),
  );
  const stream = connect(port);
  stream.write('secret');
  await expect(read(stream)).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  await closed.promise;
  expect(received).toBe(0);
});

test('accepts only certificates for the name or the address of the server', async () => {
  const [named, addressed] = [await serve(trusted), await serve(await authority.issue('127.0.0.1'))];
  expect(await read(connect(named))).toBe('done');
  expect(await read(connect(addressed, { host: '127.0.0.1' }))).toBe('done');
  for (const [port, host] of [
    [named, 'other.example'],
    [named, '127.0.0.1'],
    [addressed, 'shop.example'],
  ] as const)
    await expect(read(connect(port, { host }))).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
});

test('certificates that are costly to verify take little time of this thread', async () => {
  const port = await serve(costly);
  const own = await cpuMs(() => once(tls.connect({ port, rejectUnauthorized: false }), 'secureConnect'));
  const other = await cpuMs(() => read(connect(port, { verifiesTls: false })));
  expect(other).toBeLessThan(own / 3);
});

/** The time that this thread computes, however busy the machine is. */
async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

test('rejects certificates that need more than 32 KiB', async () => {
  const port = await serve(tooLong);
  await expect(read(connect(port, { verifiesTls: false }))).rejects.toThrow('the server sent too much for a TLS handshake');
});

test('rejects a server that sends more than 448 KiB besides the content', async () => {
  // The server encrypts each byte for itself, which takes 22 bytes.
  const port = await serve(trusted, (socket) => {
    const more = (error?: Error | null) => error || socket.write('x', more);
    more();
  });
  const stream = connect(port);
  await expect(read(stream)).rejects.toThrow('the server sent too much besides the content');
  expect(stream.encryptedBytesRead).toBeLessThan(600 * 1024);
});

test('does not offer a key exchange with a group that the server chooses', async () => {
  const port = await serve({
    ...(await createRsaCertificate()),
    ciphers: 'DHE-RSA-AES128-GCM-SHA256',
    dhparam: 'auto',
    maxVersion: 'TLSv1.2',
  });
  await expect(read(connect(port, { verifiesTls: false }))).rejects.toMatchObject({
    code: expect.stringMatching(/HANDSHAKE_FAILURE|EPROTO/),
  });
});

test('does not repeat the handshake', async () => {
  const repeated = Promise.withResolvers<Error | null>();
  const port = await serve({ ...trusted, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.once('error', (error) => repeated.resolve(error));
    socket.renegotiate({}, (error) => repeated.resolve(error));
  });
  void read(connect(port)).catch(() => {});
  expect(await repeated.promise).toBeInstanceOf(Error);
});

test('costly handshakes of one user do not delay those of others', async () => {
  const [costlyPort, port] = [await serve(costly), await serve(trusted)];
  let completed = 0;
  const handshakes = Array.from({ length: 20 }, async () => {
    await once(connect(costlyPort, { userId: 1, verifiesTls: false }), 'secureConnect');
    completed++;
  });
  await handshakes[0];
  expect(await read(connect(port, { userId: 2 }))).toBe('done');
  expect(completed).toBeLessThan(10); // Each step of a handshake waits for one of the other user.
});

test('many connections need few turns of the event loop, so that they are in time although other work fills the turns', async () => {
  const port = await serve(trusted);
  let [turns, isDone] = [0, false];
  const fillTurns = async () => {
    while (!isDone) {
      await inTurn('searching', 1, () => {
        const endMs = performance.now() + 10;
        while (performance.now() < endMs);
        turns++;
      });
    }
  };
  const filling = fillTurns();
  await Promise.all(Array.from({ length: 40 }, () => read(connect(port))));
  isDone = true;
  await filling;
  expect(turns).toBeLessThan(80); // One after the other, each connection would need at least three.
});

test.each([
  ['a reset', 'ECONNRESET', (socket: Socket) => void socket.resetAndDestroy()],
  ['an invalid record', 'ERR_SSL_BAD_RECORD_TYPE', (socket: Socket) => void socket.write('This is not TLS.')],
])('%s does not discard what the server sent before', async (_, code, fail) => {
  const content = 'x'.repeat(10_000);
  let raw: Socket | undefined;
  const port = await serve(trusted, (socket) => socket.write(content, () => raw && fail(raw)));
  const onSocket = ({ socket }: { socket: Socket }) => {
    raw = socket;
  };
  subscribe('net.server.socket', onSocket as never);
  cleanUps.push(() => unsubscribe('net.server.socket', onSocket as never));
  for (let count = 0; count < 20; count++) {
    const stream = connect(port);
    feedInPieces(stream, 1, () => ({ bytes: 100, inTurn: true })); // It reads on only when all pieces have been read.
    let received = 0;
    stream.on('data', ({ length }) => {
      received += length;
    });
    const [error] = await once(stream, 'error');
    expect({ code: error.code, received }).toEqual({ code, received: content.length });
  }
});

test('a failure that the thread reports together with content comes after it, also if the content is read in pieces', async () => {
  const stream = connect(await serve(trusted, () => {}));
  await once(stream, 'secureConnect');
  feedInPieces(stream, 1, () => ({ bytes: 100, inTurn: true }));
  let received = 0;
  stream.on('data', ({ length }) => {
    received += length;
  });
  stream.handle({ id: 1, content: new Uint8Array(1000) });
  stream.handle({ id: 1, error: { message: 'bad record', code: 'ERR_SSL' } });
  const [error] = await once(stream, 'error');
  expect({ code: error.code, received }).toEqual({ code: 'ERR_SSL', received: 1000 });
});

test('reads nothing more from the server while nobody reads the content', async () => {
  const piece = 'x'.repeat(64 * 1024);
  const port = await serve(trusted, (socket) => {
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  });
  const stream = connect(port);
  await once(stream, 'data');
  stream.pause();
  for (let count = 0; count < 20; count++) await once(connect(port), 'secureConnect');
  expect(stream.bytesRead).toBeLessThan(512 * 1024);
});

test('an end before the handshake is an error', async () => {
  const server = net.createServer((socket) => socket.end());
  cleanUps.push(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const stream = connect((server.address() as AddressInfo).port);
  await expect(read(stream)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('a connection that is refused is an error of the socket', async () => {
  const server = net.createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await expect(read(connect(port))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

/** Connects, and ends the thread. Resolves with the error of the connection. */
async function endThread(port: number): Promise<unknown> {
  const postMessage = vi.spyOn(Worker.prototype, 'postMessage');
  const stream = connect(port);
  await once(stream, 'secureConnect');
  const [thread] = postMessage.mock.contexts as unknown as Worker[];
  postMessage.mockRestore();
  const failure = once(stream, 'error');
  await thread?.terminate();
  return (await failure)[0];
}

test('if its thread dies, connections fail because of this machine, and the next one has another thread', async () => {
  const port = await serve(trusted, () => {});
  expect(await endThread(port)).toMatchObject({ kind: 'local', message: 'the TLS thread has ended' });
  const next = connect(port);
  await once(next, 'secureConnect');
  expect(next.isSecure).toBe(true);
});

test('the thread keeps the process running only while a connection is open', async () => {
  const port = await serve(trusted);
  const file = join(import.meta.dirname, '../../src/net/tls-stream.ts');
  const script = `
    import(${JSON.stringify(pathToFileURL(file))}).then(({ TlsStream }) => {
      const options = { protocol: 'http/1.1', host: 'shop.example', servername: 'shop.example', verifiesTls: false };
      new TlsStream({ port: ${port}, host: '127.0.0.1' }, 1, options).pipe(process.stdout);
    });`;
  const { child, printed, ended } = collectOutput(spawn(process.execPath, ['--eval', script], { stdio: ['ignore', 'pipe', 'pipe'] }));
  const limit = setTimeout(() => child.kill(), 20_000);
  const end = await ended.finally(() => clearTimeout(limit));
  expect({ end, printed: printed() }).toEqual({ end: 0, printed: 'done' });
});

test('NODE_TLS_REJECT_UNAUTHORIZED does not turn the verification off', async () => {
  await endThread(await serve(trusted, () => {}));
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    const port = await serve(await createRsaCertificate());
    await expect(read(connect(port))).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
});
