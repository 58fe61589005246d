import { type IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Koa, { type Context } from 'koa';

/** A context of Koa for a request that was never sent. */
export function koaContext({ url = '/', headers = {} }: { url?: string; headers?: IncomingHttpHeaders } = {}): Context {
  const request = Object.assign(new IncomingMessage(new Socket()), { url, headers });
  return new Koa().createContext(request, new ServerResponse(request));
}
