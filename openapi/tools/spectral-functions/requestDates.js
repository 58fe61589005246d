const earliest = '2099';

/** A date in the example of a request is far in the future: the example of an expiry must not become invalid one day. */
export default function requestDates(example, _options, context) {
  return [...textsIn(example, [...context.path])]
    .filter(({ text }) => /^\d{4}-\d\d-\d\d/.test(text) && text < earliest)
    .map(({ text, path }) => ({ message: `${text} will pass, or has passed. Use a date in ${earliest}.`, path }));
}

function* textsIn(value, path) {
  if (typeof value === 'string') yield { text: value, path };
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) yield* textsIn(child, [...path, key]);
}
