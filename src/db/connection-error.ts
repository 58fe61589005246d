type CodedError = Error & { code?: string };

/**
 * Explains why a PostgreSQL server could not be opened, in the words of the operator: which setting to look at, and what to do.
 * Other errors are returned as they are.
 */
export function explainConnectionError(error: unknown, setting: string): unknown {
  const cause = rootOf(error);
  if (!(cause instanceof Error)) return error;
  const { code = '', message } = cause as CodedError;
  const explain = explanations.find(({ codes, messages }) => codes?.test(code) || messages?.test(message))?.explain;
  return explain ? new Error(explain(setting, message.replace(/\.$/, '')), { cause: error }) : error;
}

/** A name with several addresses causes one error per address. The first is as good as any. */
function rootOf(error: unknown): unknown {
  if (error instanceof AggregateError) return rootOf(error.errors[0]);
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;
}

interface Explanation {
  /** SQLSTATEs, or the codes of Node. */
  codes?: RegExp;
  messages?: RegExp;
  explain(setting: string, message: string): string;
}

const explanations: Explanation[] = [
  {
    codes: /^28/,
    explain: (setting, message) =>
      `PostgreSQL rejects the login in ${setting}: ${message}. Check the user name, the password, and pg_hba.conf of the server.`,
  },
  {
    codes: /^3D000$/,
    explain: (setting, message) =>
      `PostgreSQL has no such database: ${message}. Correct the name at the end of ${setting}, or create it with deploy/create-database.sql.`,
  },
  {
    messages: /^permission denied for database/,
    explain: (setting, message) => `The login in ${setting} may not connect: ${message}. Grant it the privilege CONNECT on the database.`,
  },
  {
    codes: /^53300$/,
    explain: (setting, message) =>
      `PostgreSQL accepts no more connections for ${setting}: ${message}. Raise max_connections of the server, or lower DATABASE_POOL_SIZE.`,
  },
  { codes: /^57P03$/, explain: (setting, message) => `PostgreSQL in ${setting} is not ready: ${message}. Try again in a moment.` },
  {
    messages: /does not support SSL/,
    explain: (setting) => `The server in ${setting} does not offer TLS. Enable it there (ssl = on), or remove sslmode from the URL.`,
  },
  {
    codes: /CERT|^UNABLE_TO_|^ERR_TLS_|^HOSTNAME_MISMATCH$/,
    explain: (setting, message) =>
      `The certificate of the server in ${setting} is not accepted: ${message}. Use the host name in the certificate, and add sslrootcert=<file of your CA> to the URL.`,
  },
  {
    messages: /no such file or directory, open|permission denied, open/,
    explain: (setting, message) => `A file that ${setting} names cannot be read: ${message}.`,
  },
  {
    messages: /URI malformed/,
    explain: (setting) => `The user name or password in ${setting} contains a % that is not part of an escape. Write it as %25.`,
  },
  {
    codes: /^(ECONN|ENOTFOUND$|EAI_|ETIMEDOUT$|EHOST|ENET|EPIPE$|ENOENT$|EACCES$)/,
    messages: /timeout|Connection terminated/,
    explain: (setting, message) =>
      `The database in ${setting} is unreachable: ${message}. Check the host and port in the URL, and whether PostgreSQL is running there.`,
  },
];
