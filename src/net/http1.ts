import type { LookupAddress } from 'node:dns';
import http, { type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { BodyBuffer } from './body-buffer.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import type { Deadline } from './deadline.ts';
import { feedInPieces } from './feed-in-pieces.ts';
import { NetworkError } from './network-error.ts';

/** One request, without redirects. */
export interface Hop extends Omit<ConnectionOptions, 'protocol'> {
  url: URL;
  method: string;
  /** With names in lower case. */
  headers: Record<string, string>;
  body: string | Buffer | undefined;
  userId: number;
}

export interface Head {
  status: number;
  headers: IncomingHttpHeaders;
}

export interface Response extends Head {
  body: Buffer;
  /** Whether more of the body was wanted, but too many bytes had arrived for it. */
  isCut: boolean;
}

export interface Limits {
  deadline: Deadline;
  /** Called with the head of the response. Returns how many bytes of the body to read; with 0 the exchange ends with the head. */
  bytesWanted(head: Head): number;
}

/** The server wants another version of HTTP. `cause` is the error if there is none. */
export class Http1Refused extends Error {}

export const closedEarly = () => new NetworkError('reset', 'connection closed before the response was complete');
export const invalidResponse = () => new NetworkError('protocol', 'the response is not valid HTTP');

/** How many more bytes than those of the body are received at most: the head, the frames of chunks, and those of TLS. */
const maxOtherBytes = 320 * 1024;
/** Each of them is small, and no server needs more, but without a limit they could go on until the timeout. */
export const maxInformationalResponses = 20;

/** Sends one request on its own connection, which is closed afterwards. */
export async function exchangeHttp1(hop: Hop, addresses: LookupAddress[], { deadline, bytesWanted }: Limits): Promise<Response> {
  const connection = new Connection(hop.url, addresses, hop);
  let hasHead = false;
  let isChunked = false;
  const onHead = (head: Head) => {
    hasHead = true;
    isChunked = head.headers['transfer-encoding'] !== undefined;
    return bytesWanted(head);
  };
  feedInPieces(connection.socket, hop.userId, () => (hasHead ? (isChunked ? chunkedPortion : undefined) : headPortion));
  try {
    const request = http.request({
      createConnection: () => connection.socket,
      path: `${hop.url.pathname}${hop.url.search}`,
      method: hop.method,
      headers: { host: hop.url.host, ...hop.headers },
    });
    return await deadline.limit(receive(request.end(hop.body), connection, onHead), () => (hasHead ? 'body' : connection.phase));
  } catch (error) {
    const cause = connection.explain(error);
    throw !hasHead && refusesHttp1(error as ConnectionError, connection, hop) ? new Http1Refused('', { cause }) : cause;
  } finally {
    connection.socket.destroy();
  }
}

// The parser needs 50 ms for 64 KiB of informational responses, and half as long for tiny chunks.
const headPortion = { bytes: 1024, inTurn: false };
const chunkedPortion = { bytes: 8 * 1024, inTurn: true };

function receive(request: ClientRequest, connection: Connection, bytesWanted: (head: Head) => number): Promise<Response> {
  return new Promise((resolve, reject) => {
    // A connection can close without a response and without an error. The promise must settle anyway.
    const onClose = () => reject(closedEarly());
    let informationalResponses = 0;
    request.on('error', reject);
    request.once('close', onClose);
    request.once('upgrade', () => reject(new NetworkError('protocol', 'the response switches to another protocol')));
    request.on('information', () => {
      if (++informationalResponses > maxInformationalResponses) request.destroy(invalidResponse());
    });
    request.once('response', (response) => {
      request.off('close', onClose);
      response.on('error', reject);
      const { statusCode: status = 0, headers } = response;
      if (status < 100) return reject(invalidResponse());
      const max = bytesWanted({ status, headers });
      if (max === 0) return resolve({ status, headers, body: Buffer.alloc(0), isCut: false });
      const body = new BodyBuffer(max);
      const finish = (isCut: boolean) => resolve({ status, headers, body: body.bytes(), isCut });
      response.once('end', () => finish(false));
      collect(response, body, () => connection.bytesReceived - body.size > maxOtherBytes, finish);
    });
  });
}

/**
 * Collects what is wanted of a body, and then finishes, also if too much has arrived for it: the frames of tiny chunks can be
 * several times as long as the body.
 */
export function collect(stream: Readable, body: BodyBuffer, isTooMuch: () => boolean, finish: (isCut: boolean) => void) {
  stream.on('data', (chunk: Buffer) => {
    body.add(chunk);
    if (!body.isFull && !isTooMuch()) return;
    stream.pause();
    finish(!body.isFull);
  });
}

type ConnectionError = Error & { code?: string; rawPacket?: Buffer };

/** Whether a server that speaks HTTP/2 has rejected HTTP/1.1. A request with a body is repeated only if it was certainly not sent. */
function refusesHttp1({ code = '', message, rawPacket }: ConnectionError, { isSecure, protocol, socket }: Connection, { body }: Hop) {
  // The alert no_application_protocol ends the TLS handshake, before the request is sent.
  if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' || (code === 'EPROTO' && message.includes(':0A000460:'))) return true;
  if (body !== undefined) return false;
  if (rawPacket) return isHttp2Frame(rawPacket);
  // Servers in Go do not send the alert. They choose no protocol, although HTTP/1.1 was offered, and close the connection.
  return isSecure && protocol === false && socket.bytesRead === 0;
}

const [settings, goaway] = [4, 7];

/** Whether the bytes begin with a frame that a server of HTTP/2 sends first. */
function isHttp2Frame(bytes: Buffer): boolean {
  const type = bytes[3];
  return bytes.length >= 9 && bytes[0] === 0 && (type === settings || type === goaway) && bytes.readUInt32BE(5) === 0;
}
