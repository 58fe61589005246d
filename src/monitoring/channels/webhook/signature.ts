import { createHmac } from 'node:crypto';

// Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

/** What is signed besides the body. */
interface SignedMessage {
  id: string;
  at: Date;
  body: string;
}

/** The headers of a message. With several secrets, it has a signature of each. */
export function signatureHeaders({ id, at, body }: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map(
    (secret) =>
      `v1,${createHmac('sha256', Buffer.from(keyTextOf(secret), 'base64'))
        .update(`${id}.${timestamp}.${body}`)
        .digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** The text after `whsec_`: the key in Base64. */
export function keyTextOf(secret: string): string {
  return secret.slice(secret.indexOf('_') + 1);
}
