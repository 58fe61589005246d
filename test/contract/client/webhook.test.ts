import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { type VerifyOptions, verifyWebhook, WebhookVerificationError } from '../../../generated/client/src/index.ts';
import { webhookEvent } from '../../../src/monitoring/channels/webhook/webhook-event.ts';
import { sampleEvent } from '../../support/sample-event.ts';

const [secret, other] = ['first', 'other'].map((text) => `whsec_${Buffer.from(text.padEnd(24, '.')).toString('base64')}`) as [
  string,
  string,
];
const at = new Date('2026-11-15T01:41:18Z');
const body = JSON.stringify(webhookEvent(sampleEvent({ name: 'Käse 🧀' })));

/** Headers that another implementation has made. */
function signed(...secrets: string[]): Record<string, string> {
  return {
    'webhook-id': 'alert-7',
    'webhook-timestamp': String(at.getTime() / 1000),
    'webhook-signature': secrets.map((key) => new Webhook(key).sign('alert-7', at, body)).join(' '),
  };
}

const verify = (
  headers: Parameters<typeof verifyWebhook>[0]['headers'],
  text: string | Uint8Array = body,
  options: VerifyOptions = { now: at },
) => verifyWebhook({ body: text, headers }, secret, options);

test('returns the event, with dates', async () => {
  const event = await verify(signed(secret));
  if (event.type !== 'monitor.down') expect.fail();
  expect([event.data.monitor.friendly_name, event.data.incident.id]).toEqual(['Käse 🧀', 4012]);
  expect(event.data.incident.started_at).toEqual(new Date('2026-11-15T01:41:07.000Z'));
});

test('accepts bytes, and Headers', async () => {
  expect(await verify(new Headers(signed(secret)), Buffer.from(body))).toMatchObject({ type: 'monitor.down' });
});

test.each([
  ['the first', [secret, other]],
  ['the second', [other, secret]],
])('after a rotation, %s signature can be the one of the secret', async (_, secrets) => {
  expect(await verify(signed(...secrets))).toMatchObject({ type: 'monitor.down' });
});

test('returns an event of an unknown type as it is', async () => {
  const unknown = { type: 'monitor.sleeping', timestamp: at.toISOString(), data: { monitor: { id: 1 } } };
  const text = JSON.stringify(unknown);
  const headers = { ...signed(secret), 'webhook-signature': new Webhook(secret).sign('alert-7', at, text) };
  expect(await verify(headers, text)).toEqual(unknown);
});

const { 'webhook-signature': signature = '' } = signed(secret);
test.each<[string, Record<string, string | string[] | undefined>, string?]>([
  ['another secret', signed(other)],
  ['another body', signed(secret), `${body} `],
  ['another id', { ...signed(secret), 'webhook-id': 'alert-8' }],
  ['another time', { ...signed(secret), 'webhook-timestamp': String(at.getTime() / 1000 + 1) }],
  ['another version', { ...signed(secret), 'webhook-signature': signature.replace('v1', 'v2') }],
  ['a signature that is cut', { ...signed(secret), 'webhook-signature': signature.slice(0, -4) }],
  ['no Base64', { ...signed(secret), 'webhook-signature': 'v1,€' }],
  ['the signature after too many others', { ...signed(secret), 'webhook-signature': `${'v1,AAAA '.repeat(10)}${signature}` }],
  ['two headers', { ...signed(secret), 'webhook-signature': [signature, signature] }],
  ['no signature', { ...signed(secret), 'webhook-signature': undefined }],
  ['an empty signature', { ...signed(secret), 'webhook-signature': '' }],
  ['no id', { ...signed(secret), 'webhook-id': undefined }],
  ['a time that is no number', { ...signed(secret), 'webhook-timestamp': 'now' }],
])('rejects %s', async (_, headers, text = body) => {
  await expect(verify(headers, text)).rejects.toThrow(WebhookVerificationError);
});

test('rejects a request that is more than 5 minutes old or ahead', async () => {
  const headers = signed(secret);
  for (const seconds of [-300, 300]) {
    expect(await verify(headers, body, { now: new Date(at.getTime() + seconds * 1000) })).toMatchObject({ type: 'monitor.down' });
  }
  for (const seconds of [-301, 301]) {
    await expect(verify(headers, body, { now: new Date(at.getTime() + seconds * 1000) })).rejects.toThrow('too far');
  }
  await expect(verify(headers, body, {})).rejects.toThrow('too far');
  expect(await verify(headers, body, { now: new Date(at.getTime() + 900_000), toleranceSeconds: 900 })).toMatchObject({
    type: 'monitor.down',
  });
});

test('rejects a request if the tolerance or the current time is no number', async () => {
  await expect(verify(signed(secret), body, { now: at, toleranceSeconds: Number.NaN })).rejects.toThrow('too far');
  await expect(verify(signed(secret), body, { now: new Date(Number.NaN) })).rejects.toThrow('too far');
});

test.each(['', 'whsec_', 'whsec_€', 'stkp_AAAA'])('the secret %j is a mistake of the caller', async (wrong) => {
  await expect(verifyWebhook({ body, headers: signed(secret) }, wrong, { now: at })).rejects.toThrow(TypeError);
});
