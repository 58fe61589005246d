import { guardedRequest } from '../../net/guarded-request.ts';
import type { Net } from '../../net/resolve.ts';
import { blame, type OurFault } from './our-fault.ts';
import type { CheckResult } from './transition.ts';

const timeoutMs = 10_000;
const maxBytes = 64 * 1024;
const maxOpenBytes = 2_000_000;
const maxRedirects = 5;

/** Up when the last answer, after redirects, is 2xx and comes to an end or says where its end is. */
export async function probeHttp(url: string, net: Net): Promise<CheckResult | OurFault> {
  const start = performance.now();
  try {
    const headers = { 'User-Agent': 'Sitekeeper', Accept: '*/*' };
    const { status } = await guardedRequest(url, { headers, timeoutMs, maxBytes, maxOpenBytes, maxRedirects }, net);
    if (status >= 200 && status < 300) return { up: true, responseTimeMs: performance.now() - start };
    return { up: false, cause: `HTTP ${status}`, statusCode: status };
  } catch (error) {
    return blame(error);
  }
}
