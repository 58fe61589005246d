import type { LookupAddress } from 'node:dns';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { BodyBuffer } from './body-buffer.ts';
import { Connection } from './connection.ts';
import { closedEarly, type Head, type Hop, invalidResponse, type Limits, maxInformationalResponses, type Response } from './http1.ts';

/** The server does not speak HTTP/2 either. */
export class Http2Refused extends Error {}

// What a response may cost. The headers are limited as with HTTP/1.1, and the windows are so small that a server cannot send more
// of the body than is wanted. Node and nghttp2 limit what is left: unanswered pings and settings, continued headers, invalid frames.
const limits = {
  maxSessionMemory: 1, // MB, the smallest possible value.
  maxHeaderListPairs: 256,
  settings: { enablePush: false, initialWindowSize: 65_535, maxHeaderListSize: 16 * 1024, maxConcurrentStreams: 1 },
};

/** For all frames, also those that are no part of a response, such as pings. Nothing else limits their number. */
const maxConnectionBytes = 1_500_000;

/** Sends one request on its own connection, which is closed afterwards. */
export async function exchangeHttp2(hop: Hop, addresses: LookupAddress[], { deadline, bytesWanted }: Limits): Promise<Response> {
  const connection = new Connection(hop.url, addresses, { ...hop, protocol: 'h2' });
  const { socket } = connection;
  const meter = metered(socket);
  const session = connect(hop.url.origin, { createConnection: () => meter, ...limits });
  let hasHead = false;
  const onHead = (head: Head) => {
    hasHead = true;
    return bytesWanted(head);
  };
  try {
    return await deadline.limit(receive(session, connection, hop, onHead), () => (hasHead ? 'body' : connection.phase));
  } catch (error) {
    throw connection.explain(withoutHttp2Codes(error));
  } finally {
    // The session ends with its connection. If it were destroyed first, it would send another frame, and Node would throw an exception
    // that nobody can catch if the frame before has not left yet.
    meter.destroy();
    socket.destroy();
  }
}

function receive(session: ClientHttp2Session, connection: Connection, hop: Hop, bytesWanted: (head: Head) => number): Promise<Response> {
  return new Promise((resolve, reject) => {
    connection.socket.on('error', reject); // The session and the stream only report that they were closed.
    session.on('error', reject);
    session.once('close', () => reject(closedEarly()));
    connection.socket.once('secureConnect', () => {
      if (connection.protocol !== 'h2') reject(new Http2Refused());
    });
    const stream = send(session, hop);
    let informationalResponses = 0;
    stream.on('error', reject);
    stream.on('headers', () => {
      if (++informationalResponses > maxInformationalResponses) reject(invalidResponse());
    });
    stream.once('response', ({ ':status': status = 0, ...headers }) => {
      const max = bytesWanted({ status, headers });
      if (max === 0) return resolve({ status, headers, body: Buffer.alloc(0) });
      const body = new BodyBuffer(max);
      const finish = () => resolve({ status, headers, body: body.bytes() });
      // The length is that of the body of a GET request. Other responses have none.
      const length = hop.method === 'HEAD' || status === 304 ? 0 : Number(headers['content-length'] ?? 0);
      // A stream also ends if the server cancels it.
      stream.once('end', () => (stream.rstCode === 0 && body.size >= length ? finish() : reject(closedEarly())));
      stream.on('data', (chunk: Buffer) => {
        body.add(chunk);
        if (!body.isFull) return;
        stream.pause();
        finish();
      });
    });
    stream.once('close', () => reject(closedEarly()));
  });
}

function send(session: ClientHttp2Session, { url, method, headers, body }: Hop): ClientHttp2Stream {
  const pseudoHeaders = { ':method': method, ':scheme': url.protocol.slice(0, -1), ':authority': url.host };
  const stream = session.request(
    { ...pseudoHeaders, ':path': `${url.pathname}${url.search}`, ...headers },
    { endStream: body === undefined },
  );
  if (body !== undefined) stream.end(body);
  return stream;
}

/** Fails as soon as the server has sent more than a response needs. A session would read a socket itself, without a limit. */
function metered(socket: Socket): Duplex {
  const meter = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, _, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
  });
  socket.on('data', (chunk) => {
    if (socket.bytesRead > maxConnectionBytes) socket.destroy(invalidResponse());
    else if (!meter.push(chunk)) socket.pause();
  });
  socket.once('end', () => meter.push(null));
  socket.once('close', () => meter.destroy());
  return meter;
}

/** The server has violated the protocol, or has ended the stream or the connection with an error. */
function withoutHttp2Codes(error: unknown): unknown {
  const { code } = error as { code?: string };
  if (code === 'ERR_HTTP2_ERROR') return invalidResponse();
  return code?.startsWith('ERR_HTTP2_') ? closedEarly() : error;
}
