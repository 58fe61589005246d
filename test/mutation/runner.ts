import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { contractFiles } from '../../vitest.config.ts';
import { type Check, checks, type Fault, plant, testFilesOf } from './fault.ts';
import type { RunRequest, RunResult } from './session.ts';

/** Longer than any selection of tests takes on a busy machine. */
const runTimeoutMs = 240_000;

/** Runs tests and checks in one copy of the project, one at a time. */
export class Runner {
  readonly #folder: string;
  /** A session for each configuration of Vitest and each server. */
  readonly #sessions = new Map<string, { process: ChildProcess; started: Promise<unknown> }>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Runs the tests of a fault, with it or, as a control, without it. */
  run(fault: Fault, { isControl }: { isControl: boolean }): Promise<RunResult> {
    return fault.check ? this.#runCheck(fault, fault.check, isControl) : this.#runTests(fault, isControl);
  }

  close() {
    for (const kind of [...this.#sessions.keys()]) this.#endSession(kind);
  }

  async #runTests(fault: Fault, isControl: boolean): Promise<RunResult> {
    const [file = ''] = testFilesOf(fault);
    const kind = `${suiteOf(file)}vitest.config.ts ${fault.needs ?? ''}`;
    // Test databases are created when a session starts, so a fault in a migration needs a new one.
    const isOfSession = !isControl && fault.file.startsWith('src/db/migrations/');
    if (isOfSession) this.#endSession(kind);
    const restore = isOfSession ? this.#plant(fault) : undefined;
    const { tests = [] } = fault;
    const request: RunRequest = isControl || isOfSession ? { tests } : { tests, fault };
    try {
      return await this.#send(kind, request);
    } catch (error) {
      this.#endSession(kind);
      return failedRun(error);
    } finally {
      if (restore) this.#endSession(kind);
      restore?.();
    }
  }

  async #send(kind: string, request: RunRequest): Promise<RunResult> {
    const session = this.#sessions.get(kind) ?? this.#startSession(kind);
    this.#sessions.set(kind, session);
    await session.started;
    session.process.send(request);
    return (await nextMessage(session.process)) as RunResult;
  }

  #startSession(kind: string): { process: ChildProcess; started: Promise<unknown> } {
    const [config = '', needs = ''] = kind.split(' ');
    const command = [...serversFor(needs), process.execPath, '--no-warnings', 'test/mutation/session.ts', config];
    const session = start(command, this.#folder, 'ipc');
    let output = '';
    session.stderr?.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-2000);
    });
    const started = nextMessage(session).catch((error: Error) => {
      throw new Error(`${error.message}: ${output}`);
    });
    return { process: session, started };
  }

  #endSession(kind: string) {
    const session = this.#sessions.get(kind);
    if (session) endGroup(session.process);
    this.#sessions.delete(kind);
  }

  async #runCheck(fault: Fault, check: Check, isControl: boolean): Promise<RunResult> {
    const restore = isControl ? undefined : this.#plant(fault);
    try {
      const child = start(checks[check].command, this.#folder);
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (chunk) => {
          output = `${output}${chunk}`.slice(-2000);
        });
      }
      const timer = setTimeout(() => endGroup(child), runTimeoutMs);
      const [code] = await once(child, 'close').finally(() => clearTimeout(timer));
      if (code === 0) return { passed: 1, failed: [], errors: [] };
      return code === null ? failedRun('It did not end in time.') : { passed: 0, failed: [{ title: check, message: output }], errors: [] };
    } catch (error) {
      return failedRun(error);
    } finally {
      restore?.();
    }
  }

  /** Returns a function that restores the file. */
  #plant(fault: Fault): () => void {
    const path = join(this.#folder, fault.file);
    const original = readFileSync(path, 'utf8');
    writeFileSync(path, plant(fault, original));
    return () => writeFileSync(path, original);
  }
}

/** Returns the folder with the configuration of Vitest that runs this file. */
function suiteOf(file: string): string {
  if (contractFiles.some((glob) => matchesGlob(file, glob))) return 'test/contract/';
  return /^test\/(abuse|faults|operations)\//.exec(file)?.[0] ?? '';
}

function serversFor(needs: string): string[] {
  if (needs === 'embedded') return [];
  return needs === 'redis' ? ['.ci/with-redis', '.ci/with-postgres'] : ['.ci/with-postgres'];
}

function start(command: readonly string[], cwd: string, ipc?: 'ipc'): ChildProcess {
  const [program = '', ...args] = command;
  // The tests use the servers that `needs` names, not those of the caller.
  const env = { ...process.env, TEST_DATABASE_URL: undefined, TEST_REDIS_URL: undefined };
  return spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? [ipc] : [])] });
}

/** Ends a process and what it has started, such as a server: they are a group of their own. */
function endGroup({ pid }: ChildProcess) {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch {} // It has ended.
}

function nextMessage(session: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(() => reject(new Error('The tests did not end in time'))), runTimeoutMs);
    const onMessage = (message: unknown) => settle(() => resolve(message));
    const onEnd = () => settle(() => reject(new Error('Vitest ended unexpectedly')));
    const settle = (end: () => void) => {
      clearTimeout(timer);
      session.off('message', onMessage).off('exit', onEnd).off('error', onEnd);
      end();
    };
    session.once('message', onMessage).once('exit', onEnd).once('error', onEnd);
  });
}

function failedRun(error: unknown): RunResult {
  return { passed: 0, failed: [], errors: [String(error)] };
}
