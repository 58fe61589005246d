import type { IncomingHttpHeaders } from 'node:http';
import { hostError, urlError } from '../../../net/addresses.ts';
import { type GuardedRequest, type GuardedResponse, guardedRequest } from '../../../net/guarded-request.ts';
import type { CheckResult, MonitorCheck } from '../check.ts';
import { classifyFailure, LocalFailure } from '../local-failure.ts';
import { bodyFailure, bytesNeeded } from './body-conditions.ts';
import { isExpected } from './expected-status.ts';
import { type HttpOptions, httpOptions, withDefaults } from './http.options.ts';
import { decryptHeaders } from './request-headers.ts';

/** So much of a body is read even if nothing is searched: a visitor would notice if it did not arrive. */
const minBytes = 64 * 1024;
const maxRedirects = 5;

/** Sends a request. Only the head of the response and the first part of its body count. */
export const httpCheck: MonitorCheck = {
  targetError(url, allowed) {
    const host = URL.parse(url)?.hostname;
    const notAllowed = host ? hostError(host, allowed) : undefined;
    if (notAllowed !== undefined) return { code: 'address_not_allowed', message: notAllowed };
    const message = urlError(url, { protocols: ['http', 'https'] }, allowed);
    return message === undefined ? undefined : { code: 'invalid_target', message };
  },

  hostOf: (url) => URL.parse(url)?.hostname.replace(/\.$/, '') ?? '',

  options: httpOptions,

  describe({ url, settings, timeoutSeconds }) {
    const options = withDefaults(settings);
    const redirects = options.follow_redirects ? `follow up to ${maxRedirects} redirects` : 'follow no redirects';
    const certificate = options.verify_tls ? '' : ' Accept any certificate.';
    return `Send ${requestOf(options)} to ${url}, ${redirects}, and expect ${expectation(options)} within ${timeoutSeconds} s.${certificate}`;
  },

  /** Reports up if the last response after redirects is as expected. */
  async run(target, { net, cipher }) {
    const options = withDefaults(target.settings);
    const sentHeaders = decryptHeaders(options.headers, target, cipher);
    if (sentHeaders instanceof LocalFailure) return sentHeaders;
    const start = performance.now();
    /** What is known so far, whether or not the request succeeds. */
    const seen: Pick<CheckResult, 'responseTimeMs' | 'certificate'> = {};
    const request: GuardedRequest = {
      userId: target.userId,
      method: options.method,
      ...sentHeaders,
      ...(options.body !== null && { body: options.body }),
      timeoutMs: target.timeoutSeconds * 1000,
      maxBytes: Math.max(minBytes, bytesNeeded(options)),
      maxRedirects: options.follow_redirects ? maxRedirects : 0,
      verifiesTls: options.verify_tls,
      endsWithHead: (headers) => isEndless(headers) && bytesNeeded(options) === 0,
      keepsCookies: true,
      onCertificate(expiresAt) {
        seen.certificate = { expiresAt, warningDays: options.tls_warning_days };
      },
      onResponse() {
        seen.responseTimeMs = performance.now() - start;
      },
    };
    try {
      const response = await guardedRequest(target.url, request, net);
      seen.responseTimeMs = performance.now() - start;
      const cause = await failureOf(response, target.userId, options);
      return cause === undefined ? { up: true, ...seen } : { up: false, cause, statusCode: response.status, ...seen };
    } catch (error) {
      const result = classifyFailure(error, seen.responseTimeMs !== undefined);
      return result instanceof LocalFailure ? result : { ...result, ...seen };
    }
  },
};

async function failureOf(response: GuardedResponse, userId: number, options: HttpOptions): Promise<string | undefined> {
  if (!isExpected(response.status, options.expected_status)) return unexpectedStatus(response.status, options);
  return bytesNeeded(options) > 0 ? bodyFailure(response, userId, options) : undefined;
}

/** An error needs no explanation where 2xx is expected. */
function unexpectedStatus(status: number, { expected_status: expected }: HttpOptions): string {
  const isError = status >= 400 && expected.join() === '2xx';
  return isError ? `HTTP ${status}` : `HTTP ${status}, expected ${oneOf(expected)}`;
}

/** Names what differs from a plain request. */
function requestOf({ method, headers, body }: HttpOptions): string {
  const parts = [
    ...(headers.length > 0 ? [`${headers.length} ${headers.length === 1 ? 'header' : 'headers'}`] : []),
    ...(body === null ? [] : ['a body']),
  ];
  return parts.length > 0 ? `${method} with ${parts.join(' and ')}` : method;
}

function expectation({ expected_status, body_contains, body_not_contains, json }: HttpOptions): string {
  const parts = [
    `status ${oneOf(expected_status)}`,
    ...(body_contains === null ? [] : [`a body with ${JSON.stringify(body_contains)}`]),
    ...(body_not_contains === null ? [] : [`a body without ${JSON.stringify(body_not_contains)}`]),
    ...(json === null ? [] : [`${JSON.stringify(json.equals)} at ${json.pointer || 'the root'} of its JSON`]),
  ];
  return parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}` : parts.join('');
}

/** Lists alternatives: "301", "301 or 302", "2xx, 301 or 302". */
function oneOf(texts: string[]): string {
  return texts.length > 1 ? `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}` : texts.join('');
}

/** Events and the images of a camera never end, and the next one may take any time. */
function isEndless(headers: IncomingHttpHeaders): boolean {
  return /^(text\/event-stream|multipart\/x-mixed-replace)\s*(;|$)/i.test(headers['content-type'] ?? '');
}
