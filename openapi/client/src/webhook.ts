import { type WebhookEvent, WebhookEventFromJSON } from './models/index.js';

/** The request was not sent by Sitekeeper, was changed on its way, or is too old. Respond with 401 and ignore it. */
export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError';
}

/** A request to a webhook, as it was received. */
export interface WebhookRequest {
  /** The bytes or the text of the body, before it is parsed. */
  body: string | Uint8Array;
  /** `Headers`, or an object with names in lower case such as that of a Node server. */
  headers: { get(name: string): string | null } | Record<string, string | string[] | undefined>;
}

export interface VerifyOptions {
  /** How old a request can be, or how far ahead its clock. The default is 300 seconds. */
  toleranceSeconds?: number;
  now?: Date;
}

/** Far more than a request has: one signature, or two after a rotation. */
const maxSignatures = 10;

/**
 * Verifies a request to a webhook and returns its event. `secret` is the `signing_secret` of the provider. For 24 hours after a rotation, the
 * old secret and the new one are both valid. Throws WebhookVerificationError if the request is not valid. Events of types that this
 * version of the client does not know are returned as they are.
 */
export async function verifyWebhook(
  { body, headers }: WebhookRequest,
  secret: string,
  { toleranceSeconds = 300, now = new Date() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name));
  if (!id || !timestamp || !signatures) throw new WebhookVerificationError('A header is missing.');
  if (!/^\d{1,12}$/.test(timestamp) || !(Math.abs(now.getTime() / 1000 - Number(timestamp)) <= toleranceSeconds)) {
    throw new WebhookVerificationError('The timestamp is too far from the current time.');
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(start.length + bytes.length);
  content.set(start);
  content.set(bytes, start.length);
  if (!(await isSigned(content, signatures, secret))) throw new WebhookVerificationError('No signature matches.');
  return WebhookEventFromJSON(JSON.parse(new TextDecoder().decode(bytes)));
}

/** Whether one of the signatures is valid. The comparison takes the same time for every wrong signature. */
async function isSigned(content: Uint8Array<ArrayBuffer>, signatures: string, secret: string): Promise<boolean> {
  const rawKey = secret.startsWith('whsec_') ? decodeBase64(secret.slice('whsec_'.length)) : undefined;
  if (!rawKey?.length) throw new TypeError('The secret must be the signing_secret of the provider, which begins with whsec_.');
  const key = await crypto.subtle.importKey('raw', rawKey, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  for (const text of signatures.split(' ').slice(0, maxSignatures)) {
    const signature = text.startsWith('v1,') ? decodeBase64(text.slice('v1,'.length)) : undefined;
    if (signature && (await crypto.subtle.verify('HMAC', key, signature, content))) return true;
  }
  return false;
}

function headerOf(headers: WebhookRequest['headers'], name: string): string | undefined {
  const value = typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, string | string[] | undefined>)[name];
  return typeof value === 'string' ? value : undefined;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
