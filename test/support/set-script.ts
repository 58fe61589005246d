import { onTestFinished } from 'vitest';
import type { WebServer } from './web-server.ts';

/** Replaces the behavior of a server. Returns a function that restores it, which also runs at the end of the test. */
export function setScript(server: WebServer, script: WebServer['script']): () => void {
  const original = server.script;
  const restore = () => {
    server.script = original;
  };
  server.script = script;
  onTestFinished(restore);
  return restore;
}
