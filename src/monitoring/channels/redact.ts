const maxQuoteLength = 200;

/** How much of a response is read, because redacting takes time and only the beginning is quoted. */
const maxReadLength = 4096;

/**
 * Prepares a receiver's response for use in an error message: on one line, truncated, without secrets. HTML pages, which proxies
 * send, are dropped.
 */
export function quoteSafely(text: string, secrets: readonly string[]): string {
  if (/^\s*</.test(text)) return '';
  const line = redactBeginning(text, secrets)
    .replace(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, ' ')
    .trim();
  return truncate(line, maxQuoteLength, '…').replace(/\.$/, '');
}

function redactBeginning(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]);
  const longestFirst = [...new Set(forms)].filter((form) => form !== '').sort((a, b) => b.length - a.length);
  const [longest] = longestFirst;
  if (longest === undefined) return text.slice(0, maxReadLength);
  // A secret is also found inside another and across its end, so that no part of it remains.
  const secretHere = new RegExp(`(?=(${longestFirst.map((form) => form.replace(/[^\w]/g, '\\$&')).join('|')}))`, 'gi');
  let [redacted, end] = ['', 0];
  // Enough is read to find a secret that begins before the limit as a whole.
  for (const { index, 1: secret = '' } of text.slice(0, maxReadLength + longest.length).matchAll(secretHere)) {
    if (index >= maxReadLength) break;
    if (index >= end) redacted += `${text.slice(end, index)}****`;
    end = Math.max(end, index + secret.length);
  }
  return redacted + text.slice(end, maxReadLength);
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
