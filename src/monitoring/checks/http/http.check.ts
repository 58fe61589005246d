import type { IncomingHttpHeaders } from 'node:http';
import { hostError, urlError } from '../../../net/addresses.ts';
import { guardedRequest } from '../../../net/guarded-request.ts';
import type { MonitorCheck } from '../check.ts';
import { classifyFailure, LocalFailure } from '../local-failure.ts';

const timeoutMs = 10_000;
const maxBytes = 64 * 1024;
const maxRedirects = 5;

/** Sends a GET request. Only the head of the response and the first `maxBytes` of its body count. */
export const httpCheck: MonitorCheck = {
  targetError(url, allowed) {
    const host = URL.parse(url)?.hostname;
    const notAllowed = host ? hostError(host, allowed) : undefined;
    if (notAllowed !== undefined) return { code: 'address_not_allowed', message: notAllowed };
    const message = urlError(url, { protocols: ['http', 'https'] }, allowed);
    return message === undefined ? undefined : { code: 'invalid_target', message };
  },

  hostOf: (url) => URL.parse(url)?.hostname.replace(/\.$/, '') ?? '',

  /** Reports up if the last response after redirects is 2xx. */
  async run({ url }, { net }) {
    const start = performance.now();
    let respondedMs: number | undefined;
    const onResponse = () => {
      respondedMs = performance.now() - start;
    };
    try {
      const options = { timeoutMs, maxBytes, maxRedirects, endsWithHead, keepsCookies: true, onResponse };
      const { status } = await guardedRequest(url, options, net);
      const responseTimeMs = performance.now() - start;
      if (status >= 200 && status < 300) return { up: true, responseTimeMs };
      return { up: false, cause: `HTTP ${status}`, statusCode: status, responseTimeMs };
    } catch (error) {
      const result = classifyFailure(error, respondedMs !== undefined);
      if (result instanceof LocalFailure || respondedMs === undefined) return result;
      return { ...result, responseTimeMs: respondedMs };
    }
  },
};

/** Events and the images of a camera never end, and the next one may take any time. */
function endsWithHead(headers: IncomingHttpHeaders): boolean {
  return /^(text\/event-stream|multipart\/x-mixed-replace)\s*(;|$)/i.test(headers['content-type'] ?? '');
}
