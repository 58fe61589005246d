import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { scripts } from '../../support/web-server.ts';
import { accountSid, authToken, failureOf, message, messageOf, startHttpChannels, twilioCredentials } from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => {
  setup.clearRequests();
  setup.api.script = scripts.respond('{"sid":"SM1","status":"queued","error_message":null}', 201);
});
afterAll(() => setup.close());

const send = (what = message) => setup.channels.sms.send({ phone_number: '+4915112345678' }, what);
const sentForm = () => Object.fromEntries(new URLSearchParams(setup.api.requests[0]?.body));

test('calls the Messages API of Twilio with the credentials of the account', async () => {
  await send(messageOf(sampleEvent({ name: 'Shop & Co' })));
  expect(setup.api.requests[0]?.path).toBe(`/2010-04-01/Accounts/${accountSid}/Messages.json`);
  expect(setup.api.requests[0]?.headers).toMatchObject({
    'content-type': 'application/x-www-form-urlencoded',
    authorization: `Basic ${twilioCredentials}`,
  });
  expect(sentForm()).toEqual({
    To: '+4915112345678',
    From: '+15005550006',
    Body: 'DOWN Shop & Co: 503 Service Unavailable. Since 01:41 UTC. https://api.northwind.example/v2/checkout/health',
  });
});

test('sends the test message without an emoji and in one segment', async () => {
  await send(testMessage({ userId: 1, now: new Date() }));
  expect(sentForm().Body).toMatch(/^Test notification [ -~]+$/);
  expect(sentForm().Body?.length).toBeLessThanOrEqual(160);
});

test('a message that Twilio accepts but marks as failed is a temporary failure', async () => {
  setup.api.script = scripts.respond('{"sid":"SM1","status":"failed","error_message":"Unreachable"}', 201);
  expect(await failureOf(send())).toMatchObject({
    permanent: false,
    message: 'Twilio did not confirm the message: Unreachable.',
  });
});

test('an error does not show the account, its token and the credentials that a response repeats', async () => {
  const repeated = `${accountSid} with ${authToken} as Basic ${twilioCredentials}`;
  setup.api.script = scripts.respond(JSON.stringify({ code: 21211, message: `Invalid: ${repeated}` }), 400);
  const { message: shown } = await failureOf(send());
  expect(shown).toContain('Invalid: **** with **** as Basic **** (21211)');
});

test.each([401, 403])('a login that is rejected with %i is for the operator to correct, so it is retried', async (status) => {
  setup.api.script = scripts.respond(JSON.stringify({ code: 20003, message: 'Authenticate' }), status);
  expect(await failureOf(send())).toMatchObject({
    permanent: false,
    settings: ['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN'],
    message: `Twilio rejected the login of this service with status ${status}.`,
  });
});

test('returns the name of the first missing setting and does not send without it', async () => {
  const smsWith = (env: Record<string, string>) => createChannels(readConfig(env).delivery, setup.net).sms;
  expect(smsWith({}).missingSetting()).toBe('TWILIO_ACCOUNT_SID');
  expect(smsWith({ TWILIO_ACCOUNT_SID: accountSid }).missingSetting()).toBe('TWILIO_AUTH_TOKEN');
  expect(smsWith({ TWILIO_ACCOUNT_SID: accountSid, TWILIO_AUTH_TOKEN: authToken }).missingSetting()).toBe('SMS_FROM');
  expect(setup.channels.sms.missingSetting()).toBeUndefined();
  expect(await failureOf(smsWith({}).send({ phone_number: '+49' }, message))).toMatchObject({
    permanent: false,
    settings: ['TWILIO_ACCOUNT_SID'],
    message: 'Delivery is not configured on this service. Ask the operator to set TWILIO_ACCOUNT_SID.',
  });
});
