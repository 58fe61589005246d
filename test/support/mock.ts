import { tmpdir } from 'node:os';
import { ApiClient } from './api-client.ts';
import { listening, type Running, run } from './process.ts';

export interface RunningMock extends Running {
  url: string;
  /** Calls the mock with a key that means nothing. */
  api: ApiClient;
  /** Calls it with these headers. */
  as(headers: Record<string, string>): ApiClient;
  stop(): Promise<number | string>;
}

/** The mock as a frontend team runs it, of this checkout or another. */
export async function startMock(checkout?: string): Promise<RunningMock> {
  const running = run(tmpdir(), {}, ['mock', '--port', '0'], checkout);
  const url = await listening(running);
  // Its answers are examples: right in form, not about what was asked.
  const clientOf = (headers: Record<string, string>) => new ApiClient(url, headers, { isMock: true });
  return {
    ...running,
    url,
    api: clientOf({ Authorization: 'Bearer any' }),
    as: clientOf,
    stop() {
      running.child.kill('SIGTERM');
      return running.ended;
    },
  };
}
