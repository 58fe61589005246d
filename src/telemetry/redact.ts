/** A percent sign, which may be percent-encoded itself. */
const percent = '%(?:25)*';
/** A character of a key, which may be percent-encoded. */
const character = `(?:[0-9a-z]|${percent}[3-7][0-9a-f])`;
/** The first characters of a key are also shown in lists, and tell which key was exposed. */
const apiKey = new RegExp(
  `((?:s|${percent}[57]3)(?:t|${percent}[57]4)(?:k|${percent}[46]b)(?:p|${percent}[57]0)(?:_|${percent}5f)${character}{4})${character}+`,
  'gi',
);

const slash = `(?:/|${percent}2f)`;
/** What stands in the place of a token, in whole or in part, with or without mistakes. A file with a line is that of a stack trace. */
const heartbeatToken = new RegExp(`(${slash}heartbeats${slash}+)(?![\\w.-]{1,64}\\.[jt]s:\\d)[^/\\s"?#\\\\]+`, 'gi');

/** The signature of a link that confirms an address, in whole or in part, with or without mistakes. */
const linkSignature = new RegExp(`(${slash}confirm-recipient${slash}+(?:\\d+${slash}+)?)[^\\s"?#\\\\]+`, 'gi');
/** A signature in any other place. Escapes in JSON and URLs are matched too, so that none is cut. */
const escapeOrSignature = new RegExp(`\\\\(?:u[0-9a-f]{4}|.)|${percent}[0-9a-f]{2}|[\\w-]{43,}`, 'gi');

/** What can be a token in any other place, such as a mistyped path. Escapes in JSON and URLs are matched too, so that no run begins inside them. */
const escapeOrRun = new RegExp(`\\\\(?:u[0-9a-f]{4}|.)|${character}+|${percent}[0-9a-f]{2}`, 'gi');
const encodedCharacter = new RegExp(`${percent}([3-7][0-9a-f])`, 'gi');
/** The name of a function, as in stack traces. */
const camelCase = /^[A-Z]?[a-z]+(?:[A-Z][a-z]+)*$/;

/** Removes API keys, which clients send in the wrong place, such as the path or the name of a field, the tokens of heartbeats, and the signatures of links. */
export function redactCredentials(text: string): string {
  return text
    .replace(apiKey, '$1****')
    .replace(heartbeatToken, '$1****')
    .replace(linkSignature, '$1****')
    .replace(escapeOrSignature, (found) => (canBeSignature(found) ? '****' : found))
    .replace(escapeOrRun, (found) => (canBeToken(found) ? '****' : found));
}

/**
 * Trace ids, request ids, checksums and labels of domains can be as long as a token, but have letters of one case. One of
 * 10,000,000 tokens has that as well, and one of 100,000 could be the name of a function.
 */
function canBeToken(found: string): boolean {
  const decoded = found.replace(encodedCharacter, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  return decoded.length >= 32 && /[a-z]/.test(decoded) && /[A-Z]/.test(decoded) && !camelCase.test(decoded);
}

/** Names of that length rarely have digits and letters of both cases. One of 1,000 signatures has no digit. */
function canBeSignature(found: string): boolean {
  return found.length >= 43 && /\d/.test(found) && /[a-z]/.test(found) && /[A-Z]/.test(found);
}
