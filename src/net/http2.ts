import type { LookupAddress } from 'node:dns';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { Duplex } from 'node:stream';
import { BodyBuffer } from './body-buffer.ts';
import { Connection } from './connection.ts';
import { feedInPieces } from './feed-in-pieces.ts';
import {
  closedEarly,
  collect,
  type Head,
  type Hop,
  invalidResponse,
  type Limits,
  maxInformationalResponses,
  type Response,
} from './http1.ts';

/** The server does not speak HTTP/2 either. */
export class Http2Refused extends Error {}

// What a response may cost. The headers are limited as with HTTP/1.1, and the windows are so small that a server cannot send more
// of the body than is wanted. Node and nghttp2 limit unanswered pings and settings, continued headers and invalid frames.
const limits = {
  maxSessionMemory: 1, // MB, the smallest possible value.
  maxHeaderListPairs: 256,
  settings: { enablePush: false, initialWindowSize: 65_535, maxHeaderListSize: 16 * 1024, maxConcurrentStreams: 1 },
};

/**
 * How many more bytes than those of the body are received at most, of all frames: also those that are no part of a response, such as
 * pings. Nothing else limits their number. Each of them costs more than a chunk of HTTP/1.1, and servers send fewer.
 */
const maxOtherBytes = 128 * 1024;
/** Node needs up to 20 µs for a frame of ten bytes, and cannot be stopped within a piece. */
const portion = { bytes: 1024, inTurn: true };

/** Sends one request on its own connection, which is closed afterwards. */
export async function exchangeHttp2(hop: Hop, addresses: LookupAddress[], { deadline, bytesWanted }: Limits): Promise<Response> {
  const connection = new Connection(hop.url, addresses, { ...hop, protocol: 'h2' });
  const { socket } = connection;
  feedInPieces(socket, hop.userId, () => portion);
  const meter = new Meter(socket);
  const session = connect(hop.url.origin, { createConnection: () => meter, ...limits });
  let hasHead = false;
  const onHead = (head: Head) => {
    hasHead = true;
    return bytesWanted(head);
  };
  try {
    return await deadline.limit(receive(session, meter, connection, hop, onHead), () => (hasHead ? 'body' : connection.phase));
  } catch (error) {
    throw connection.explain(withoutHttp2Codes(error));
  } finally {
    // The session ends with its connection. If it were destroyed first, it would send another frame, and Node would throw an exception
    // that nobody can catch if the frame before has not left yet.
    meter.destroy();
    socket.destroy();
  }
}

function receive(
  session: ClientHttp2Session,
  meter: Meter,
  connection: Connection,
  hop: Hop,
  bytesWanted: (head: Head) => number,
): Promise<Response> {
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
      if (++informationalResponses > maxInformationalResponses) {
        reject(invalidResponse()); // At once, because the response may be in the same packet.
        connection.socket.destroy();
      }
    });
    stream.once('response', ({ ':status': status = 0, ...headers }) => {
      const max = bytesWanted({ status, headers });
      if (max === 0) return resolve({ status, headers, body: Buffer.alloc(0), isCut: false });
      const body = new BodyBuffer(max);
      meter.body = body;
      const finish = (isCut: boolean) => resolve({ status, headers, body: body.bytes(), isCut });
      // The length is that of the body of a GET request. Other responses have none.
      const length = hop.method === 'HEAD' || status === 304 ? 0 : Number(headers['content-length'] ?? 0);
      // A stream also ends if the server cancels it.
      stream.once('end', () => (stream.rstCode === 0 && body.size >= length ? finish(false) : reject(closedEarly())));
      collect(stream, body, () => meter.otherBytes > maxOtherBytes, finish);
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

/**
 * Stands between a session and its socket, which a session would read itself, without a limit. It fails as soon as the server has
 * sent more than a response needs, and passes nothing on while the session does not read.
 */
class Meter extends Duplex {
  body = new BodyBuffer(0);
  #bytesReceived = 0;

  constructor(socket: Duplex) {
    super({
      readableHighWaterMark: 1, // Pieces that wait here would be parsed at once as soon as the session reads again.
      read: () => void socket.resume(),
      write: (chunk, _, done) => void socket.write(chunk, done),
      final: (done) => void socket.end(done),
    });
    socket.on('data', (chunk) => {
      if (this.otherBytes > maxOtherBytes) return socket.destroy(invalidResponse());
      this.#bytesReceived += chunk.length;
      if (!this.push(chunk)) socket.pause();
    });
    socket.once('end', () => this.push(null));
    socket.once('close', () => this.destroy());
  }

  get otherBytes(): number {
    return this.#bytesReceived - this.body.size;
  }
}

/** The server has violated the protocol, or has ended the stream or the connection with an error. */
function withoutHttp2Codes(error: unknown): unknown {
  const { code } = error as { code?: string };
  if (code === 'ERR_HTTP2_ERROR') return invalidResponse();
  return code?.startsWith('ERR_HTTP2_') ? closedEarly() : error;
}
