const maxQuoteLength = 200;

/**
 * Prepares a receiver's response for use in an error message: on one line, truncated, without secrets. HTML pages, which proxies
 * send, are dropped.
 */
export function quoteSafely(text: string, secrets: readonly string[]): string {
  if (/^\s*</.test(text)) return '';
  const line = redactSecrets(text, secrets)
    .replace(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, ' ')
    .trim();
  return truncate(line, maxQuoteLength, '…').replace(/\.$/, '');
}

function redactSecrets(text: string, secrets: readonly string[]): string {
  // Longer secrets come first, so that a secret that contains another is redacted as a whole.
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]);
  const longestFirst = forms.filter((form) => form !== '').sort((a, b) => b.length - a.length);
  return longestFirst.reduce((rest, form) => rest.replace(new RegExp(form.replace(/[^\w]/g, '\\$&'), 'gi'), '****'), text);
}

/** Truncates to a size of at most `limit`, in UTF-16 units by default, including the mark. Never splits a visible character. */
export function truncate(text: string, limit: number, mark: string, size = (part: string) => part.length): string {
  if (size(text) <= limit) return text;
  let kept = '';
  let remaining = limit - size(mark);
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    remaining -= size(segment);
    if (remaining < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}${mark}`;
}

/** Everybody who knows the path can post, so it is a secret. So are its longer segments; short ones are words such as "services". */
export function secretsOfWebhook(webhookUrl: string): string[] {
  const { pathname, search } = new URL(webhookUrl);
  return [pathname + search, ...`${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length > 8)].filter((part) => part !== '/');
}
