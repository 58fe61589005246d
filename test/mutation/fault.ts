/** Checks of the whole project that catch what no test runs into. The command fails with the fault, and succeeds without it. */
export const checks = {
  typecheck: { command: ['npm', 'run', '--silent', 'typecheck'], reads: ['tsconfig.json'] },
  'alerting rules': {
    command: ['promtool', 'test', 'rules', 'test/operations/alerting-rules.yml'],
    reads: ['test/operations/alerting-rules.yml'],
  },
} as const;

export type Check = keyof typeof checks;

/** A fault that is planted in a copy of the project by replacing a text in one file. */
export interface Fault {
  /** What is wrong with the changed program. */
  title: string;
  file: string;
  /** Must occur exactly once in the file. */
  find: string;
  replace: string;
  /** The test files of which one must fail. "file > text" selects the tests whose title contains the text. */
  tests?: readonly string[];
  /** The check that must fail instead. */
  check?: Check;
  /** What the tests need instead of a PostgreSQL server, which is faster than the embedded database: that one, or Redis as well. */
  needs?: 'embedded' | 'redis';
  /** Why no test catches it. */
  survives?: string;
}

type Defaults = Pick<Fault, 'file' | 'tests' | 'check' | 'needs'>;

/** Returns the faults of one file. They share what `defaults` contains. */
export function faultsIn(defaults: Defaults, faults: Omit<Fault, 'file'>[]): Fault[] {
  return faults.map((fault) => ({ ...defaults, ...fault }));
}

/** Returns the text of a file with the fault. Throws if it does not apply any more. */
export function plant({ title, file, find, replace }: Fault, text: string): string {
  const occurrences = text.split(find).length - 1;
  if (occurrences !== 1) throw new Error(`"${title}" does not apply: ${file} contains the text ${occurrences} times instead of once.`);
  return text.replace(find, () => replace);
}

export function testFilesOf({ tests = [] }: Fault): string[] {
  return tests.map((test) => test.split(' > ')[0] ?? '');
}
