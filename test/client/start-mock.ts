import { tmpdir } from 'node:os';
import { run } from '../support/process.ts';

/** The mock as people start it, on a port of its own. */
export async function startMock(): Promise<{ url: string; stop(): Promise<void> }> {
  const running = run(tmpdir(), {}, ['mock', '--port', '0']);
  let url: string | undefined;
  for (let wait = 0; wait < 900 && !url; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    url = /http:\/\/[\w.]+:\d+/.exec(running.printed())?.[0];
  }
  if (!url) throw new Error(`The mock did not start:\n${running.printed()}`);
  return {
    url,
    async stop() {
      running.child.kill('SIGTERM');
      await running.ended;
    },
  };
}
