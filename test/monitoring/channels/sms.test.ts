import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { scripts } from '../../support/web-server.ts';
import { accountSid, authToken, failureOf, message, startHttpChannels, twilioCredentials } from './http-channels.ts';

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
  await send({ ...message, text: 'Shop & Co is down' });
  expect(setup.api.requests[0]?.path).toBe(`/2010-04-01/Accounts/${accountSid}/Messages.json`);
  expect(setup.api.requests[0]?.headers).toMatchObject({
    'content-type': 'application/x-www-form-urlencoded',
    authorization: `Basic ${twilioCredentials}`,
  });
  expect(sentForm()).toEqual({ To: '+4915112345678', From: '+15005550006', Body: 'Shop & Co is down' });
});

test('sends the test message without an emoji and in one segment', async () => {
  await send(testMessage(setup.channels.sms));
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
  setup.api.script = scripts.respond(JSON.stringify({ code: 20003, message: `Cannot authenticate ${repeated}` }), 401);
  const { message: shown } = await failureOf(send());
  expect(shown).toContain('Cannot authenticate **** with **** as Basic **** (20003)');
});

test('returns the name of the first missing setting and does not send without it', async () => {
  const smsWith = (env: Record<string, string>) => createChannels(readConfig(env).delivery, setup.net).sms;
  expect(smsWith({}).missingSetting()).toBe('TWILIO_ACCOUNT_SID');
  expect(smsWith({ TWILIO_ACCOUNT_SID: accountSid }).missingSetting()).toBe('TWILIO_AUTH_TOKEN');
  expect(smsWith({ TWILIO_ACCOUNT_SID: accountSid, TWILIO_AUTH_TOKEN: authToken }).missingSetting()).toBe('SMS_FROM');
  expect(setup.channels.sms.missingSetting()).toBeUndefined();
  expect(await failureOf(smsWith({}).send({ phone_number: '+49' }, message))).toMatchObject({
    permanent: false,
    message: 'Delivery is not configured on this service. Ask the operator to set TWILIO_ACCOUNT_SID.',
  });
});
