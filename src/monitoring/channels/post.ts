import { type GuardedResponse, guardedRequest } from '../../net/guarded-request.ts';
import { NetworkError } from '../../net/network-error.ts';
import type { Net } from '../../net/resolve.ts';
import { DeliveryFailed, type Limits } from './channel.ts';
import { quoteSafely } from './redact.ts';

export interface MessageRequest {
  /** The name of the receiving service, for error messages. */
  service: string;
  /** Whose message it is. */
  userId: number;
  url: string;
  headers: Record<string, string>;
  body: string;
  /** The operator's settings that log in to the service. Without them a rejected login is the user's. */
  credentials?: readonly string[];
  /** Must not appear in an error message. */
  secrets: readonly string[];
  /** Parses the response body, whose format differs between services. */
  parse(body: string): ParsedResponse;
}

export interface ParsedResponse {
  /** False if the body reports an error despite a 2xx status. */
  accepted: boolean;
  message: string;
  retryAfterSeconds?: number | undefined;
}

/** Posts a message and returns once it was accepted. Redirects are not followed, because they would send secrets elsewhere. */
export async function post(message: MessageRequest, net: Net, limits: Limits): Promise<void> {
  const { service, userId, url, headers, body } = message;
  const request = { userId, method: 'POST', headers, body, ...limits, maxRedirects: 0, propagatesTrace: true };
  const response = await guardedRequest(url, request, net).catch((error: unknown) => {
    throw error instanceof NetworkError ? unreachable(service, error) : error;
  });
  const failure = failureOf(response, message);
  if (failure) throw failure;
}

function failureOf(
  { status, headers, body }: Pick<GuardedResponse, 'status' | 'headers' | 'body'>,
  { service, secrets, parse, credentials = [] }: MessageRequest,
): DeliveryFailed | undefined {
  const parsed = parse(body.toString('utf8'));
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && parsed.accepted) return undefined;
  const message = quoteSafely(parsed.message, secrets);
  const suffix = message === '' ? '' : `: ${message}`;
  if (isSuccess) return new DeliveryFailed(`${service} did not confirm the message${suffix}.`, { permanent: false });
  // The operator can correct a rejected login, so the delivery is retried. Users are not shown what was wrong with it.
  if (credentials.length > 0 && (status === 401 || status === 403)) {
    return new DeliveryFailed(`${service} rejected the login of this service with status ${status}.`, {
      permanent: false,
      settings: credentials,
    });
  }
  if (status >= 300 && status < 400) {
    return new DeliveryFailed(`${service} responded with a redirect (status ${status}), which is not followed.`, { permanent: true });
  }
  if (status === 429 || status >= 500) {
    const retryAfterSeconds = parsed.retryAfterSeconds ?? parseRetryAfter(headers['retry-after'], Date.now());
    return new DeliveryFailed(`${service} temporarily rejected the message with status ${status}${suffix}.`, {
      permanent: false,
      retryAfterSeconds: retryAfterSeconds && Math.min(Math.max(retryAfterSeconds, 1), maxRetryAfterSeconds),
    });
  }
  return new DeliveryFailed(`${service} rejected the message with status ${status}${suffix}.`, { permanent: true });
}

const maxRetryAfterSeconds = 24 * 60 * 60;

/** Parses `Retry-After`, which is a number of seconds or a date. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Math.max(Number(header), 1);
  const date = header.endsWith(' GMT') ? Date.parse(header) : Number.NaN; // Date.parse alone accepts -5 as a date.
  return Number.isNaN(date) ? undefined : Math.max(Math.ceil((date - now) / 1000), 1);
}

function unreachable(service: string, { kind, message }: NetworkError): DeliveryFailed {
  if (kind === 'timeout') return new DeliveryFailed(`${service} did not respond in time.`, { permanent: false });
  // Retrying an address that is not allowed does not help until the URL or NET_ALLOW changes. Other errors may be temporary.
  return new DeliveryFailed(`${service} could not be reached: ${message}.`, { permanent: kind === 'address_not_allowed' });
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
