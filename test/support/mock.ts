import { tmpdir } from 'node:os';
import { ApiClient } from './api-client.ts';
import { listening, type Running, run } from './process.ts';

export interface RunningMock extends Running {
  url: string;
  /** Calls the mock with a key that means nothing. */
  api: ApiClient;
  stop(): Promise<number | string>;
}

/** The mock as a frontend team runs it, of this checkout or another. */
export async function startMock(checkout?: string): Promise<RunningMock> {
  const running = run(tmpdir(), {}, ['mock', '--port', '0'], checkout);
  const url = await listening(running);
  return {
    ...running,
    url,
    api: new ApiClient(url, { Authorization: 'Bearer any' }),
    stop() {
      running.child.kill('SIGTERM');
      return running.ended;
    },
  };
}
