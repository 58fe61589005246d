// A status that a check expects is written as 301, 400-404 or 2xx.

/** Whether a status is one of those that are expected. */
export function isExpected(status: number, expected: readonly string[]): boolean {
  return expected.some((text) => {
    const { first, last } = rangeOf(text);
    return status >= first && status <= last;
  });
}

/** Whether a range begins with the higher status, so that it contains none. */
export function isReversed(text: string): boolean {
  const { first, last } = rangeOf(text);
  return first > last;
}

function rangeOf(text: string): { first: number; last: number } {
  if (text.endsWith('xx')) return { first: Number(text[0]) * 100, last: Number(text[0]) * 100 + 99 };
  const [first = text, last = first] = text.split('-');
  return { first: Number(first), last: Number(last) };
}
