import { z } from 'zod';
import type { DeliverySettings } from '../../config.ts';
import { anywhere } from '../../net/resolve.ts';
import { type Channel, type Limits, notSetUp, type Targets } from './channel.ts';
import { jsonOf, post, type Reply } from './post.ts';
import { oneSegment } from './sms-text.ts';

/** Sends text messages through Twilio's Messages API. Its address is the operator's setting, so it may be any. */
export function smsChannel(settings: DeliverySettings, limits: Limits): Channel<Targets['sms']> {
  const { twilioApiUrl, twilioAccountSid, twilioAuthToken, smsFrom } = settings;
  const missing = [!twilioAccountSid && 'TWILIO_ACCOUNT_SID', !twilioAuthToken && 'TWILIO_AUTH_TOKEN', !smsFrom && 'SMS_FROM'].find(
    (setting) => setting,
  );
  return {
    missingSetting: () => missing || undefined,
    async send({ phoneNumber }, { text }) {
      if (!twilioAccountSid || !twilioAuthToken || !smsFrom) throw notSetUp(missing || 'SMS_FROM');
      const credentials = Buffer.from(`${twilioAccountSid}:${twilioAuthToken}`).toString('base64');
      const said = {
        service: 'Twilio',
        url: `${twilioApiUrl}/2010-04-01/Accounts/${twilioAccountSid}/Messages.json`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: `Basic ${credentials}` },
        body: new URLSearchParams({ To: phoneNumber, From: smsFrom, Body: oneSegment(text) }).toString(),
        secrets: [twilioAuthToken, twilioAccountSid, credentials],
        read,
      };
      await post(said, anywhere, limits);
    },
  };
}

const answerShape = z.union([
  z.object({ sid: z.string(), status: z.string(), error_message: z.string().nullish() }),
  z.object({ code: z.number(), message: z.string() }),
]);

function read(body: string): Reply {
  const answer = answerShape.safeParse(jsonOf(body)).data;
  if (!answer) return { accepted: false, words: body };
  if ('code' in answer) return { accepted: false, words: `${answer.message} (${answer.code})` };
  return { accepted: !['failed', 'undelivered', 'canceled'].includes(answer.status), words: answer.error_message ?? answer.status };
}
