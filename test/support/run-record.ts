import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

export interface RecordedTest {
  file: string;
  title: string;
  state: 'passed' | 'failed' | 'skipped' | 'pending';
}

export interface RunRecord {
  /** The clock of the tests when they ended. */
  time: number;
  tests: RecordedTest[];
}

/** Writes which tests ran and which were skipped to a file in TEST_RECORD. At the end of CI, required-tests.ts reads all of them. */
export default class RunRecorder implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    const folder = process.env.TEST_RECORD;
    if (!folder) return;
    const tests = modules.flatMap(({ relativeModuleId: file, children }) =>
      [...children.allTests()].map((test): RecordedTest => ({ file, title: test.fullName, state: test.result().state })),
    );
    const record: RunRecord = { time: Date.now(), tests };
    writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(record));
  }
}
