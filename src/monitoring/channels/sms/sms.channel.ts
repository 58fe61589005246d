import { z } from 'zod';
import { anywhere } from '../../../net/resolve.ts';
import { type Channel, type ChannelDeps, type ChannelSettings, notConfigured } from '../channel.ts';
import { type ParsedResponse, parseJson, post } from '../post.ts';
import { smsText } from './sms-message.ts';

/** Sends SMS through Twilio's Messages API. The operator sets its URL, so every address is allowed. */
export function smsChannel({ settings, limits }: ChannelDeps): Channel<ChannelSettings<'sms'>> {
  const { twilioApiUrl, twilioAccountSid, twilioAuthToken, smsFrom, smsPerUserPerDay } = settings;
  const required = {
    SMS_PER_USER_PER_DAY: smsPerUserPerDay,
    TWILIO_ACCOUNT_SID: twilioAccountSid,
    TWILIO_AUTH_TOKEN: twilioAuthToken,
    SMS_FROM: smsFrom,
  };
  const missing = Object.entries(required).find(([, value]) => !value)?.[0];
  return {
    name: 'SMS',
    receiver: 'the SMS service',
    fields: { phone_number: 'plain' },
    audience: 'people',
    perUserPerDay: smsPerUserPerDay,
    missingSetting: () => missing,
    async send({ phone_number: phoneNumber }, message) {
      if (!twilioAccountSid || !twilioAuthToken || !smsFrom) throw notConfigured(missing ?? 'SMS_FROM');
      const credentials = Buffer.from(`${twilioAccountSid}:${twilioAuthToken}`).toString('base64');
      const request = {
        service: 'Twilio',
        userId: message.userId,
        url: `${twilioApiUrl}/2010-04-01/Accounts/${twilioAccountSid}/Messages.json`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: `Basic ${credentials}` },
        body: new URLSearchParams({ To: phoneNumber, From: smsFrom, Body: smsText(message) }).toString(),
        credentials: ['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN'],
        secrets: [twilioAuthToken, twilioAccountSid, credentials],
        parse,
      };
      await post(request, anywhere, limits);
    },
  };
}

const responseSchema = z.union([
  z.object({ sid: z.string(), status: z.string(), error_message: z.string().nullish() }),
  z.object({ code: z.number(), message: z.string() }),
]);

function parse(body: string): ParsedResponse {
  const response = responseSchema.safeParse(parseJson(body)).data;
  if (!response) return { accepted: false, message: body };
  if ('code' in response) return { accepted: false, message: `${response.message} (${response.code})` };
  return { accepted: !['failed', 'undelivered', 'canceled'].includes(response.status), message: response.error_message ?? response.status };
}
