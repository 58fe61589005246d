import statuses from 'statuses';

/** Says the cause of an incident in words: "503 Service Unavailable, expected 2xx" instead of "HTTP 503". */
export function causeInWords(cause: string): string {
  const words = withPhrase(cause);
  return /^HTTP \d{3}$/.test(cause) ? `${words}, expected 2xx` : words;
}

const maxShortLength = 36;

/** Says the cause in at most 36 characters, for text messages. */
export function shortCause(cause: string): string {
  const [, short = withPhrase(cause)] = shortForms.find(([start]) => cause.startsWith(start)) ?? [];
  const [beginning = ''] = short.split(/[,:] | while /);
  const shorter = short.length <= maxShortLength ? short : beginning;
  return shorter.length <= maxShortLength ? shorter : `${shorter.slice(0, maxShortLength - 2).trimEnd()}..`;
}

function withPhrase(cause: string): string {
  return cause.replace(/^HTTP (\d{3})\b/, (status, code) => {
    const phrase = statuses.message[Number(code)];
    return phrase === undefined ? status : `${code} ${phrase}`;
  });
}

/** The beginnings of causes that are too long, or whose quotes are, and what they mean. */
const shortForms: [start: string, short: string][] = [
  ['the body does not contain ', 'an expected text is missing'],
  ['the first MiB of the body does not contain ', 'an expected text is missing'],
  ['the body contains ', 'an unwanted text was found'],
  ['the body was sent in pieces', 'the body was not read to its end'],
  ['the body is longer than', 'the JSON document is too long'],
  ['the JSON value at ', 'a JSON value is not as expected'],
  ['the JSON document ', 'the JSON is not as expected'],
  ['connection closed before', 'the response was not complete'],
  ['connection not permitted by', 'connection blocked by a firewall'],
  ['TLS certificate expired on', 'TLS certificate expired'],
  ['TLS certificate signed by', 'TLS certificate not trusted'],
  ['a redirect to another origin', 'a redirect cannot be followed'],
  ['the redirect contains a user', 'a redirect cannot be followed'],
  ['the response switches to', 'the protocol is not HTTP'],
  ['the reply took longer than', 'the reply came too late'],
];
