// The headers of HTTP itself, which the decisions about the contract define and OpenAPI documents do not list.
import type { ApiResponse } from './api-client.ts';

/** Returns a short description of every header of a response that is missing or wrong. */
export function wrongGeneralHeaders({ status, headers, body }: ApiResponse, { isMock = false, isDeclared = true }): string[] {
  const isProblem = status >= 400;
  const isSecret = (data?: Record<string, unknown>) => ['key', 'heartbeat_url', 'signing_secret'].some((field) => data?.[field]);
  const containsSecret = [body?.data].flat().some(isSecret);
  // A 304 has no body that would tell whether it is about a secret.
  const caching = status === 304 ? /^(no-store|private, no-cache)$/ : /^private, no-cache$/;
  const expected: Record<string, RegExp> = {
    'Cache-Control': isProblem || containsSecret ? /^no-store$/ : caching,
    'X-Content-Type-Options': /^nosniff$/,
    // A request with too many headers is rejected before it is read.
    ...(status !== 431 && { Vary: /^(?=.*\bAuthorization\b)(?=.*\bCookie\b)(?=.*\bOrigin\b)/ }),
    ...(status === 401 && { 'WWW-Authenticate': /^Bearer$/ }),
    ...(status === 405 && { Allow: /^[A-Z]+(, [A-Z]+)*$/ }),
    // The service does not read the rest of the body. The mock has read all of it.
    ...(status === 413 && !isMock && { Connection: /^close$/ }),
    ...(status === 429 && { 'Retry-After': /^[1-9]\d*$/ }),
  };
  const wrong = Object.entries(expected)
    .filter(([name, pattern]) => !pattern.test(headers.get(name) ?? ''))
    .map(([name]) => `the header ${name} is ${headers.get(name)}`);
  const others = ['Allow', 'WWW-Authenticate', 'Retry-After'].filter((name) => headers.has(name) && !allowedOn(name, status, isDeclared));
  return [...wrong, ...others.map((name) => `the header ${name} does not belong to ${status}`)];
}

function allowedOn(name: string, status: number, isDeclared: boolean): boolean {
  // A method that no operation has can also exceed the rate limit.
  if (name === 'Allow') return status === 405 || status === 204 || (status === 429 && !isDeclared);
  return name === 'WWW-Authenticate' ? status === 401 : status === 429 || status === 503;
}
