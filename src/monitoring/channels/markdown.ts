import { truncate } from './redact.ts';

/** Escapes what formats a text in Markdown, so that it is shown as it is. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\*_~`|<>[\]()#]|^[-+]|(?<=^\d{1,9})\./g, '\\$&');
}

/** Truncates and escapes a text, to at most `limit` UTF-16 units. */
export function markdownOf(text: string, limit: number, escapeText = escapeMarkdown): string {
  // At the beginning of a text, one character more is escaped.
  return escapeText(truncate(text, limit - 1, '…', (part) => escapeText(part).length));
}
