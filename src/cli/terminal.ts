import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { OperatorError, UsageError } from '../errors.ts';

/**
 * Reads a new password from the terminal, twice and without echo, or once from standard input. An argument would be visible in
 * process lists.
 */
export async function readPassword(email: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: isTerminal ? silent : undefined, terminal: isTerminal });
  const answers = lines[Symbol.asyncIterator]();
  const ask = async (question: string) => {
    if (isTerminal) process.stderr.write(question);
    const { value, done } = await answers.next();
    if (isTerminal) process.stderr.write('\n');
    if (isTerminal && done) throw new OperatorError('Canceled. No password was set.');
    return String(value ?? '');
  };
  try {
    const password = await ask(`Password for ${email}: `);
    const length = [...password].length;
    if (length < 8 || length > 128) throw new UsageError('the password must have 8 to 128 characters');
    if (isTerminal && (await ask('The same password again: ')) !== password)
      throw new OperatorError('The passwords differ. No password was set.');
    return password;
  } finally {
    lines.close();
  }
}

/** Asks on the terminal for the address of a user, and returns whether it was repeated correctly. */
export async function confirmWithAddress(question: string, email: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(question).catch(() => {
    // Ctrl+C or Ctrl+D. The cursor is still behind the question.
    process.stderr.write('\n');
    throw new OperatorError('Canceled. Nothing was deleted.');
  });
  terminal.close();
  return answer.trim().toLowerCase() === email.toLowerCase();
}
