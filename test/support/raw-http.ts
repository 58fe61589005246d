import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';

export interface RawResponse {
  /** All that came back, as one character a byte. */
  text: string;
  status: number;
  headers: Headers;
  body: string;
  /** From the connection to its end. */
  ms: number;
  /** What was handed to the socket and taken by it. */
  bytesSent: number;
}

/**
 * A connection to which `send` writes what it likes, without an HTTP client that would know better. Resolves with all
 * that came back when the connection is closed. `stubborn`: it is the service that has to close it.
 */
export function rawExchange(url: string, send: string | ((socket: Socket) => void), { stubborn = false } = {}): Promise<RawResponse> {
  return new Promise((resolve) => {
    const start = performance.now();
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: stubborn }, () =>
      typeof send === 'string' ? socket.write(send, 'latin1') : send(socket),
    );
    let text = '';
    socket.setEncoding('latin1').on('data', (data) => {
      text += data;
    });
    socket.on('error', () => {}); // a reset is an end, too
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

/** One answer, and it is a problem with this status and code. */
export function expectRawProblem(answer: RawResponse, status: number, code: string, about: string) {
  expect([about, answer.status, answer.headers.get('Content-Type')]).toEqual([about, status, 'application/problem+json']);
  expect(JSON.parse(answer.body)).toMatchObject({ status, code, request_id: answer.headers.get('X-Request-Id') });
}
