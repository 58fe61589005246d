import { guardedRequest } from '../../net/guarded-request.ts';
import { NetFault } from '../../net/net-fault.ts';
import type { Net } from '../../net/resolve.ts';
import { traceHeaders } from '../../trace.ts';
import { DeliveryFailed, type Limits } from './channel.ts';
import { quotable } from './words.ts';

export interface Post {
  /** How reasons name the other side. */
  service: string;
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Must not be seen in a reason. */
  secrets: readonly string[];
  /** Reads what the other side says in its own format. */
  read(body: string): Reply;
}

export interface Reply {
  /** False where a good status is not enough and the body says something else. */
  accepted: boolean;
  words: string;
  retryAfterSeconds?: number | undefined;
}

/** Posts a message over HTTP; returns once it was accepted. Redirects are not followed: they would carry secrets elsewhere. */
export async function post({ service, url, headers, body, secrets, read }: Post, net: Net, limits: Limits): Promise<void> {
  const request = { method: 'POST', headers: { ...headers, ...traceHeaders() }, body, ...limits, maxRedirects: 0 };
  const answer = await guardedRequest(url, request, net).catch((error: unknown) => {
    throw error instanceof NetFault ? notReached(service, error) : error;
  });
  const { status } = answer;
  const reply = read(answer.body.toString('utf8'));
  const isGood = status >= 200 && status < 300;
  if (isGood && reply.accepted) return;
  const words = quotable(reply.words, secrets);
  const said = words === '' ? '' : `: ${words}`;
  if (isGood) throw new DeliveryFailed(`${service} did not confirm the message${said}.`, { permanent: false });
  if (status === 429 || status >= 500) {
    const retryAfterSeconds = reply.retryAfterSeconds ?? secondsUntil(answer.headers['retry-after'], Date.now());
    throw new DeliveryFailed(`${service} could not take the message for now, with the status ${status}${said}.`, {
      permanent: false,
      retryAfterSeconds: retryAfterSeconds && Math.min(Math.max(retryAfterSeconds, 1), longestPause),
    });
  }
  throw new DeliveryFailed(`${service} refused the message with the status ${status}${said}.`, { permanent: true });
}

const longestPause = 24 * 60 * 60;

/** `Retry-After`: seconds or a date. */
export function secondsUntil(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Math.max(Number(header), 1);
  const date = header.endsWith(' GMT') ? Date.parse(header) : Number.NaN; // Date.parse alone takes -5 for a date
  return Number.isNaN(date) ? undefined : Math.max(Math.ceil((date - now) / 1000), 1);
}

function notReached(service: string, { kind, message }: NetFault): DeliveryFailed {
  if (kind === 'timeout') return new DeliveryFailed(`${service} did not answer in time.`, { permanent: false });
  // Only the operator or the owner of the name can change what we refuse; everything else may pass.
  return new DeliveryFailed(`${service} could not be reached: ${message}.`, { permanent: kind === 'address_not_allowed' });
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
