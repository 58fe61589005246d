import { guardedRequest } from '../../net/guarded-request.ts';
import { NetFault } from '../../net/net-fault.ts';
import type { Net } from '../../net/resolve.ts';
import { OurFault } from './our-fault.ts';
import type { CheckResult } from './transition.ts';

const timeoutMs = 10_000;
const maxBytes = 64 * 1024;
const maxOpenBytes = 2_000_000;
const maxRedirects = 5;

/** Up when the last answer, after redirects, is 2xx and comes to an end or says where its end is. */
export async function probeHttp(url: string, net: Net): Promise<CheckResult> {
  const start = performance.now();
  try {
    const headers = { 'User-Agent': 'Sitekeeper', Accept: '*/*' };
    const { status } = await guardedRequest(url, { headers, timeoutMs, maxBytes, maxOpenBytes, maxRedirects }, net);
    if (status >= 200 && status < 300) return { up: true, responseTimeMs: performance.now() - start };
    return { up: false, cause: `HTTP ${status}`, statusCode: status };
  } catch (error) {
    if (!(error instanceof NetFault)) throw error;
    if (error.kind === 'our_side') throw new OurFault(error.message);
    return { up: false, cause: error.kind === 'address_not_allowed' ? 'address_not_allowed' : error.message, statusCode: null };
  }
}
