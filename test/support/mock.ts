import { tmpdir } from 'node:os';
import { ApiClient } from './api-client.ts';
import { type RunningProcess, run, waitUntilListening } from './process.ts';

export interface RunningMock extends RunningProcess {
  url: string;
  /** Calls the mock with an arbitrary key, because the mock accepts any. */
  api: ApiClient;
  /** Returns a client that sends these headers. */
  withHeaders(headers: Record<string, string>): ApiClient;
  stop(): Promise<number | string>;
}

/** Starts the mock as a frontend team runs it, from this checkout or another one. */
export async function startMock(checkout?: string): Promise<RunningMock> {
  const running = run(tmpdir(), {}, ['mock', '--port', '0'], checkout);
  const url = await waitUntilListening(running);
  // Its responses are examples: they conform to the schema, but do not depend on the request.
  const clientOf = (headers: Record<string, string>) => new ApiClient(url, headers, { isMock: true });
  return {
    ...running,
    url,
    api: clientOf({ Authorization: 'Bearer any' }),
    withHeaders: clientOf,
    stop() {
      running.child.kill('SIGTERM');
      return running.ended;
    },
  };
}
