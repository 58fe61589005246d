import { guardedRequest } from '../../net/guarded-request.ts';
import type { Net } from '../../net/resolve.ts';
import type { CheckResult } from '../engine/transition.ts';
import { classifyFailure, LocalFailure } from './local-failure.ts';

const timeoutMs = 10_000;
const maxBytes = 64 * 1024;
const maxUnsizedBytes = 2_000_000;
const maxRedirects = 5;

/** Reports up if the last response after redirects is 2xx. A response without Content-Length must end within `maxUnsizedBytes`. */
export async function checkHttp(url: string, net: Net): Promise<CheckResult | LocalFailure> {
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
}
