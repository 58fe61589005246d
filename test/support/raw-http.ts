import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';

export interface RawResponse {
  /** The whole response, with one character per byte. */
  text: string;
  status: number;
  headers: Headers;
  body: string;
  /** The time from opening the connection until it is closed. */
  ms: number;
  /** The number of bytes written to the socket. */
  bytesSent: number;
}

/**
 * Opens a connection and writes raw bytes to it, which an HTTP client would not allow. Resolves with the response when the
 * connection is closed. With `allowHalfOpen`, the client never closes the connection, so the service must.
 */
export function rawExchange(url: string, send: string | ((socket: Socket) => void), { allowHalfOpen = false } = {}): Promise<RawResponse> {
  return new Promise((resolve) => {
    const start = performance.now();
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen }, () =>
      typeof send === 'string' ? socket.write(send, 'latin1') : send(socket),
    );
    let text = '';
    socket.setEncoding('latin1').on('data', (data) => {
      text += data;
    });
    socket.on('error', () => {}); // A reset also ends the exchange.
    socket.on('close', () => resolve({ ...parse(text), ms: performance.now() - start, bytesSent: socket.bytesWritten }));
  });
}

function parse(text: string): Pick<RawResponse, 'text' | 'status' | 'headers' | 'body'> {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = new Headers();
  for (const line of lines) headers.append(line.split(': ')[0] ?? '', line.split(': ').slice(1).join(': '));
  return { text, status: Number(first.split(' ')[1] ?? 0), headers, body: rest.join('\r\n\r\n') };
}

/** Expects a problem with this status and code. `about` names the case in the failure message. */
export function expectRawProblem(response: RawResponse, status: number, code: string, about: string) {
  expect([about, response.status, response.headers.get('Content-Type')]).toEqual([about, status, 'application/problem+json']);
  expect(JSON.parse(response.body)).toMatchObject({ status, code, request_id: response.headers.get('X-Request-Id') });
}
