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
/** The token of a heartbeat is the credential of its sender. It may be in the wrong place, such as after a mistyped path. */
const heartbeatToken = new RegExp(
  [
    `(${slash}heartbeats${slash}+(?:fail${slash})?(?:\\\\")?)[^/\\s"?#\\\\]+`,
    `(${slash}heartbeat(?:=|${slash})+)[0-9A-Za-z]{32,}`,
    `(${slash})[0-9A-Za-z]{32}(?![0-9A-Za-z])`,
  ].join('|'),
  'gi',
);

/** Removes API keys, which clients send in the wrong place, such as the path or the name of a field, and the tokens of heartbeats. */
export function redactCredentials(text: string): string {
  return text.replace(apiKey, '$1****').replace(heartbeatToken, '$1$2$3****');
}
