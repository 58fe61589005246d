import { checkAgainstContract } from './response-check.ts';

export interface ApiResponse {
  status: number;
  headers: Headers;
  // Tests read the responses of every operation. The body was validated against the contract before the test sees it.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
  text: string;
}

interface Options {
  headers?: Record<string, string>;
  form?: Record<string, string> | [string, string][] | string;
  json?: unknown;
  /** A body that is sent unchanged, with the Content-Type from the headers. */
  raw?: string | Uint8Array<ArrayBuffer> | ReadableStream;
}

/** A proxy can add headers of its own. */
const isBehindProxy = process.env.TEST_THROUGH_PROXY !== undefined;

/** Calls the service over HTTP. Every response is checked against the contract before the test sees it. */
export class ApiClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #options: { isMock?: boolean };

  constructor(url: string, headers: Record<string, string> = {}, options: { isMock?: boolean } = {}) {
    this.#url = url;
    this.#headers = headers;
    this.#options = options;
  }

  get = (path: string, options?: Options) => this.request('GET', path, options);
  post = (path: string, options?: Options) => this.request('POST', path, options);
  put = (path: string, options?: Options) => this.request('PUT', path, options);
  patch = (path: string, options?: Options) => this.request('PATCH', path, options);
  delete = (path: string, options?: Options) => this.request('DELETE', path, options);

  async request(method: string, path: string, { headers = {}, form, json, raw }: Options = {}): Promise<ApiResponse> {
    const body = form !== undefined ? new URLSearchParams(form) : json !== undefined ? JSON.stringify(json) : raw;
    const fetched = await fetch(this.#url + path, {
      method,
      redirect: 'manual',
      headers: { ...this.#headers, ...(json !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body, duplex: 'half' as const }),
    });
    const text = await fetched.text();
    const response = { status: fetched.status, headers: fetched.headers, text, body: text === '' ? undefined : JSON.parse(text) };
    checkAgainstContract(method, path, response, { ...this.#options, allowsOtherHeaders: isBehindProxy });
    return response;
  }
}
