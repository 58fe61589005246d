/** The first characters of a key are also shown in lists, and tell which key was exposed. */
const apiKey = /(stkp(?:_|%5f)[0-9a-z]{4})[0-9a-z]+/gi;

/** Removes API keys from a text, because clients send them in the wrong place: in the path, or as the name of a field. */
export function redactKeys(text: string): string {
  return text.includes('stkp') ? text.replace(apiKey, '$1****') : text;
}
