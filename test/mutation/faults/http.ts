import { type Fault, faultsIn } from '../fault.ts';

const pipeline = ['test/http/pipeline.test.ts'];
const sameOrigin = ['test/http/same-origin.test.ts'];
const server = ['test/http/server.test.ts'];
const createSession = ['test/accounts/create-session.test.ts > cookie'];
const rateLimits = ['test/limits/rate-limits.test.ts'];

export const httpFaults: Fault[] = [
  ...faultsIn({ file: 'src/http/contract.ts', tests: ['test/http/contract.test.ts'] }, [
    { title: 'the first request of every operation waits until its schemas are compiled', find: 'void contract.#compile();', replace: '' },
    { title: 'a start waits until all schemas are compiled', find: 'void contract.#compile();', replace: 'await contract.#compile();' },
  ]),
  ...faultsIn({ file: 'src/http/pipeline.ts', tests: pipeline }, [
    { title: 'scopes are not checked', find: 'if (missing.length === 0) return;', replace: 'if (missing.length >= 0) return;' },
    {
      title: 'one of several required scopes is enough',
      find: 'if (missing.length === 0) return;',
      replace: 'if (missing.length === 0 || missing.length < operation.scopes.length) return;',
      survives: 'No operation of the contract requires more than one scope.',
    },
    {
      title: 'a heartbeat is lost because of its Accept header',
      find: 'if (checksAccept && accept',
      replace: 'if (accept',
      tests: ['test/monitoring/heartbeats/send-heartbeat.test.ts > accepts only'],
    },
    { title: 'a cache can give the response of one user to another', find: "'Authorization, Cookie, Origin'", replace: "'Origin'" },
    {
      title: 'a page of another origin can change data with a session',
      find: "if (operation.method === 'GET' || operation.hasTokenInPath || caller.key || isSameOrigin(ctx, publicUrl)) return;",
      replace: 'if (caller) return;',
      tests: sameOrigin,
    },
    {
      title: 'a page of another origin can delete with a session',
      find: "operation.method === 'GET' ||",
      replace: "operation.method === 'GET' || operation.method === 'DELETE' ||",
      tests: sameOrigin,
    },
    {
      title: 'a session of an operation that accepts only sessions can be replaced by a key',
      find: "const acceptsKeys = operation.credentials.includes('bearerKey');",
      replace: 'const acceptsKeys = true;',
    },
    {
      title: 'requests without credentials are not limited',
      find: 'if (isClientError(error)) enforceRateLimit(ctx, status);\n  else setRateLimitHeaders(ctx, status);',
      replace: 'setRateLimitHeaders(ctx, status);',
      tests: rateLimits,
    },
    {
      title: 'the requests of keys are not limited',
      find: 'enforceRateLimit(ctx, await deps.rateLimits.countCaller(caller));',
      replace: 'setRateLimitHeaders(ctx, await deps.rateLimits.countCaller(caller));',
      tests: rateLimits,
    },
    {
      title: 'valid keys use up the lookups of their address',
      find: '  if (lookedUp) await deps.rateLimits.refundLookup(deps.clientAddress(ctx));\n  ctx.state.caller',
      replace: '  ctx.state.caller',
      tests: rateLimits,
    },
    {
      title: 'an outage of the database uses up the lookups of an address',
      find: 'if (lookedUp && !isClientError(error)) await',
      replace: 'if (lookedUp && isClientError(undefined)) await',
      tests: ['test/http/internal-errors.test.ts', 'test/limits/rate-limits.test.ts'],
    },
    { title: 'validation comes before the media type', find: '    requireMediaType(ctx, operation); // 415\n', replace: '' },
    {
      title: 'anonymous requests to public operations are not limited',
      find: 'enforceRateLimit(ctx, await deps.rateLimits.countAddress(deps.clientAddress(ctx)));\n    return anonymous;',
      replace: 'return anonymous;',
      tests: rateLimits,
    },
    {
      title: 'a preflight request without Origin is not limited',
      find: '  enforceRateLimit(ctx, await deps.rateLimits.countAddress(deps.clientAddress(ctx)));\n  ctx.status = 204;',
      replace: '  ctx.status = 204;',
      tests: ['test/limits/rate-limits.test.ts', 'test/http/pipeline.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/http/same-origin.ts', tests: sameOrigin }, [
    {
      title: 'requests of subdomains count as same origin',
      find: "site === 'same-origin' || site === 'none'",
      replace: "site === 'same-origin' || site === 'same-site' || site === 'none'",
    },
    {
      title: 'the Origin header is not compared',
      find: "return origin === '' || origin === new URL(publicUrl).origin;",
      replace: 'return true || origin;',
    },
    {
      title: 'an opaque origin counts as same origin',
      find: "origin === '' || origin",
      replace: "origin === '' || origin === 'null' || origin",
    },
  ]),
  ...faultsIn({ file: 'src/http/session-cookie.ts', tests: createSession }, [
    { title: 'scripts can read the session cookie', find: 'httpOnly: true', replace: 'httpOnly: false' },
    { title: 'other sites can send the session cookie', find: "sameSite: 'lax'", replace: "sameSite: 'none'" },
    { title: 'the session cookie is sent without encryption', find: '      secure: this.#isSecure,', replace: '      secure: false,' },
    { title: 'a subdomain can set the session cookie', find: "this.#isSecure ? '__Host-sitekeeper_session' : ", replace: '' },
    { title: 'the session cookie applies to the path of the API only', find: "path: '/'", replace: "path: '/api'" },
  ]),
  ...faultsIn({ file: 'src/http/cors.ts', tests: ['test/http/cors.test.ts'] }, [
    {
      title: 'scripts of other origins can send the session cookie',
      find: 'exposeHeaders, maxAge: 600 }',
      replace: 'exposeHeaders, maxAge: 600, credentials: true }',
    },
    { title: 'scripts of other origins cannot read ETag', find: "  'ETag',\n", replace: '' },
    { title: 'CORS_ORIGINS is ignored', find: "return allowed.includes(origin) ? origin : '';", replace: 'return origin;' },
  ]),
  ...faultsIn({ file: 'src/http/api.ts', tests: pipeline }, [
    {
      title: 'every response can be stored by shared caches',
      find: "containsSecret ? 'no-store' : 'private, no-cache'",
      replace: "containsSecret ? 'no-store' : 'no-cache'",
    },
    {
      title: 'Location lacks the path of PUBLIC_URL',
      find: 'pathOf(publicUrl) + location',
      replace: 'location',
      tests: ['test/websites/create-website.test.ts', 'test/http/pipeline.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/http/middleware.ts', tests: ['test/http/internal-errors.test.ts'] }, [
    {
      title: 'the client sees the message of an unexpected error',
      find: "const detail = 'An unexpected error occurred. If it happens again, report the request_id to the operator.';",
      replace: 'const detail = String(cause);',
    },
    { title: 'an unexpected error is not logged', find: 'if (problem.cause !== undefined)', replace: 'if (problem.cause === 0)' },
    {
      title: 'the log contains the query string',
      find: '        path: ctx.path,',
      replace: '        path: ctx.url,',
      tests: ['test/telemetry/exposed-keys.test.ts > query string'],
    },
    {
      title: 'responses can be sniffed',
      find: "  ctx.res.setHeader('X-Content-Type-Options', 'nosniff');\n",
      replace: '',
      tests: pipeline,
    },
  ]),
  ...faultsIn({ file: 'src/http/server.ts', tests: server }, [
    { title: 'headers can have a mebibyte', find: 'const maxHeaderBytes = 16 * 1024;', replace: 'const maxHeaderBytes = 1024 * 1024;' },
    {
      title: 'slow clients occupy connections for ten minutes',
      find: 'const requestTimeoutMs = 6000;',
      replace: 'const requestTimeoutMs = 600_000;',
    },
    {
      title: 'a connection handles all of its requests at once',
      find: 'if (!previous || isClosed(previous)) return next();',
      replace: 'return next();',
    },
    {
      title: 'a request after one that closes the connection has an effect',
      find: "if (!socket.destroyed && previous?.getHeader('Connection') !== 'close') handle",
      replace: 'if (!socket.destroyed) handle',
    },
    {
      title: 'a request without end holds the shutdown for a minute',
      find: 'const closeTimeoutMs = 6000;',
      replace: 'const closeTimeoutMs = 60_000;',
      tests: ['test/http/closing.test.ts > aborts a request'],
    },
    {
      title: 'responses that clients do not read fill the memory',
      find: '    unread.watch(response);\n',
      replace: '',
      tests: ['test/http/unread-responses.test.ts > the server abandons'],
    },
    { title: 'a process that shuts down stays ready', find: '      isDraining = true;\n', replace: '' },
    {
      title: 'idle connections are closed before proxies close them',
      find: 'const keepAliveMs = 65_000;',
      replace: 'const keepAliveMs = 5000;',
      tests: server,
    },
    {
      title: 'the error of a request that cannot be parsed can be cached',
      find: "'X-Content-Type-Options: nosniff\\r\\nCache-Control: no-store\\r\\n' +",
      replace: "'X-Content-Type-Options: nosniff\\r\\n' +",
    },
    {
      title: 'the error of a request that is rejected early can be cached',
      find: ".setHeader('X-Content-Type-Options', 'nosniff').setHeader('Cache-Control', 'no-store')",
      replace: ".setHeader('X-Content-Type-Options', 'nosniff')",
    },
  ]),
  ...faultsIn({ file: 'src/http/request-line.ts', tests: server }, [
    { title: 'a request can have 2,000 headers', find: 'const maxHeaderCount = 200;', replace: 'const maxHeaderCount = 2000;' },
    {
      title: 'a request with two Host headers is accepted',
      find: ".length > 1)\n    return ['malformed_request', 'The Host header must not",
      replace: ".length > 9)\n    return ['malformed_request', 'The Host header must not",
    },
    { title: 'a request without Host is accepted', find: "httpVersion === '1.1' ? [", replace: "httpVersion === '0' ? [" },
  ]),
  ...faultsIn({ file: 'src/http/body.ts', tests: ['test/http/body.test.ts'] }, [
    {
      title: 'a body can have 10 MiB',
      find: 'export const maxBodyBytes = 256 * 1024;',
      replace: 'export const maxBodyBytes = 10 * 1024 * 1024;',
    },
    {
      title: 'JSON with any number of values is parsed',
      find: 'const maxMarks = 20_000;',
      replace: 'const maxMarks = 20_000_000;',
    },
    {
      title: 'opening brackets do not count as values',
      find: ' || byte === brace || byte === bracket;',
      replace: ' || (byte === brace && byte === bracket);',
    },
    { title: 'the last of two equal keys in a JSON object wins', find: 'if (keys.has(key)) return quoted;', replace: '' },
    {
      title: 'a body that is not UTF-8 is accepted',
      find: "new TextDecoder('utf-8', { fatal: true })",
      replace: "new TextDecoder('utf-8')",
    },
    { title: 'a body with any media type is accepted', find: '!ctx.is(operation.body.mediaType) || ', replace: '' },
  ]),
  ...faultsIn({ file: 'src/http/health.ts', tests: ['test/http/metrics-endpoint.test.ts > /readyz is requested'] }, [
    {
      title: '/readyz is 200 while the process is not ready',
      find: 'ctx.status = reason === undefined ? 200 : 503;',
      replace: 'ctx.status = 200;',
      tests: ['test/http/internal-errors.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/http/metrics-endpoint.ts', tests: ['test/http/metrics-endpoint.test.ts > METRICS_TOKEN'] }, [
    { title: 'everybody can read the metrics', find: 'token !== undefined && !isEqual(', replace: "token === '' && !isEqual(" },
    {
      title: 'the beginning of the token of the metrics is enough',
      find: 'return timingSafeEqual(one as Buffer, other as Buffer);',
      replace: "return given !== '' && expected.startsWith(given) && one !== other;",
    },
    {
      title: 'the time of the comparison tells the token of the metrics',
      find: 'return timingSafeEqual(one as Buffer, other as Buffer);',
      replace: 'return given === expected && one !== other;',
      survives: 'The result is the same. A test would have to measure nanoseconds over a network.',
    },
  ]),
  ...faultsIn({ file: 'src/app.ts', tests: ['test/limits/rate-limits.test.ts > X-Forwarded-For'] }, [
    {
      title: 'a client can claim any address in X-Forwarded-For',
      find: 'hop < proxyHops && isProxy(sender, hop)',
      replace: 'true || isProxy(sender, hop) || hop < proxyHops',
    },
    { title: 'more proxies than configured are trusted', find: 'hop < proxyHops && isProxy', replace: 'hop <= proxyHops && isProxy' },
    { title: 'every sender is a trusted proxy', find: 'hop < proxyHops && isProxy(sender, hop)', replace: 'hop < proxyHops' },
  ]),
  ...faultsIn({ file: 'src/limits/rate-limits.ts', tests: rateLimits }, [
    {
      title: 'a user with many keys has many times the limit',
      find: "limit('user', perMinute * 2)",
      replace: "limit('user', perMinute * 200)",
    },
    {
      title: 'a session has a hundred times the limit of a key',
      find: "limit('session', perMinute)",
      replace: "limit('session', perMinute * 100)",
      tests: ['test/limits/rate-limits.test.ts > a session has the limit of a key'],
    },
    { title: 'clients without credentials have the limit of keys', find: 'Math.max(1, Math.round(perMinute / 10))', replace: 'perMinute' },
    {
      title: 'the headers report the limit of the key although its user has fewer requests left',
      find: '(user.isExceeded || user.remaining < own.remaining)',
      replace: 'user.isExceeded',
      tests: ['test/limits/rate-limits.test.ts > the limit with the fewest requests left'],
    },
    {
      title: 'a key over its limit uses up the limit of its user',
      find: '    if (own.isExceeded) await this.#user.limiter.reward(userId);\n',
      replace: '',
    },
    {
      title: 'each address of an IPv6 network has its own limit',
      find: "parsed.toByteArray().slice(0, 8).join('.')",
      replace: "parsed.toByteArray().join('.')",
    },
    { title: 'the windows of limits are an hour', find: 'const windowSeconds = 60;', replace: 'const windowSeconds = 3600;' },
  ]),
  ...faultsIn({ file: 'src/limits/fair-slots.ts', tests: ['test/limits/fair-slots.test.ts'] }, [
    {
      title: 'an owner with much work delays the others',
      find: '      this.#shares.delete(owner);\n      this.#shares.set(owner, share);\n',
      replace: '',
    },
    { title: 'work that fails keeps its slot', find: '      this.#running--;\n      share.running--;', replace: '      share.running--;' },
    {
      title: 'any amount of work can wait',
      find: 'if (share.waiting.size >= maxWaiting)',
      replace: 'if (share.waiting.size >= maxWaiting * 1000)',
    },
    {
      title: 'work that has waited too long runs although it was rejected',
      find: '        share.waiting.delete(begin);\n        this.#removeIfIdle',
      replace: '        this.#removeIfIdle',
    },
  ]),
];
