const longest = 200;

/**
 * What the other side said, fit for a reason: on one line, shortened, without secrets. Pages of HTML, which proxies send
 * and nobody wants to read, become nothing.
 */
export function quotable(said: string, secrets: readonly string[]): string {
  if (/^\s*</.test(said)) return '';
  const line = withoutSecrets(said, secrets)
    .replace(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, ' ')
    .trim();
  return shortened(line, longest, '…').replace(/\.$/, '');
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  // Longer ones first, so that none is torn apart by one that it contains.
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]);
  const longestFirst = forms.filter((form) => form !== '').sort((a, b) => b.length - a.length);
  return longestFirst.reduce((rest, form) => rest.replace(new RegExp(form.replace(/[^\w]/g, '\\$&'), 'gi'), '****'), text);
}

/** Cut so that it has at most `limit` UTF-16 units, the mark included. What readers see as one character stays whole. */
export function shortened(text: string, limit: number, mark: string, size = (part: string) => part.length): string {
  if (size(text) <= limit) return text;
  let kept = '';
  let room = limit - size(mark);
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    room -= size(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}${mark}`;
}
