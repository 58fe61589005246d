import { hostError, urlError } from '../../../net/addresses.ts';
import { guardedRequest } from '../../../net/guarded-request.ts';
import type { MonitorCheck } from '../check.ts';
import { classifyFailure, LocalFailure } from '../local-failure.ts';

const timeoutMs = 10_000;
const maxBytes = 64 * 1024;
const maxUnsizedBytes = 2_000_000;
const maxRedirects = 5;

/** Sends a GET request. A response without Content-Length must end within `maxUnsizedBytes`. */
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
      const headers = { 'User-Agent': 'Sitekeeper', Accept: '*/*' };
      const { status } = await guardedRequest(url, { headers, timeoutMs, maxBytes, maxUnsizedBytes, maxRedirects, onResponse }, net);
      const responseTimeMs = performance.now() - start;
      if (status >= 200 && status < 300) return { up: true, responseTimeMs };
      return { up: false, cause: `HTTP ${status}`, statusCode: status, responseTimeMs };
    } catch (error) {
      const result = classifyFailure(error);
      if (result instanceof LocalFailure || respondedMs === undefined) return result;
      return { ...result, responseTimeMs: respondedMs };
    }
  },
};
