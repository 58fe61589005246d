// DATABASE_URL as libpq defines it: postgres://user:password@host1:5432,host2:5433/database?target_session_attrs=read-write.

const writable = ['read-write', 'primary'];

/** Whether the service may only use a server that accepts writes. Such a URL can name several hosts. */
export function requiresWritable(url: string): boolean {
  return writable.includes(sessionAttributes(url));
}

/** Returns one URL for each host, with everything else unchanged. */
export function splitHosts(url: string): string[] {
  const [, start = '', hosts = '', end = ''] = /^([^:/?#]*:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)/s.exec(url) ?? [];
  return start === '' ? [url] : hosts.split(',').map((host) => start + host + end);
}

/** Returns the user name in a URL, which may be empty. */
export function loginOf(url: string): string {
  const [first = url] = splitHosts(url);
  const { username, searchParams } = new URL(first);
  return searchParams.get('user') ?? decodeURIComponent(username);
}

/** Replaces the user name and password in a URL, also if they are parameters of it. */
export function withLogin(url: string, userInfo: string): string {
  const [address = '', query] = url.split(/\?(.*)/s);
  const others = (query ?? '').split('&').filter((parameter) => parameter !== '' && !isLogin(parameter));
  return (
    address.replace(/^([^:/?#]*:\/\/)(?:[^/?#]*@)?/, (_, scheme) => `${scheme}${userInfo}@`) +
    (others.length > 0 ? `?${others.join('&')}` : '')
  );
}

function isLogin(parameter: string): boolean {
  const [name] = new URLSearchParams(parameter).keys();
  return name === 'user' || name === 'password';
}

/** Returns what is wrong with a URL, if anything is. */
export function findUrlError(url: string): string | undefined {
  const parts = splitHosts(url);
  if (parts.some((part) => !/^postgres(ql)?:/.test(URL.parse(part)?.protocol ?? ''))) return 'must be a postgres:// URL';
  const urls = parts.map((part) => new URL(part));
  if (urls.some(({ pathname }) => pathname.length < 2)) return 'must end with the name of a database, such as /sitekeeper';
  const attributes = sessionAttributes(url);
  if (![...writable, 'any'].includes(attributes)) return 'must have a target_session_attrs of read-write, primary or any';
  if (urls.length === 1) return undefined;
  if (urls.some(({ hostname }) => hostname === '')) return 'must have a host before and after each comma';
  if (attributes !== 'any') return undefined;
  return 'must end with ?target_session_attrs=read-write if it has several hosts, because the service writes';
}

function sessionAttributes(url: string): string {
  const [first = ''] = splitHosts(url);
  return URL.parse(first)?.searchParams.get('target_session_attrs') ?? 'any';
}
