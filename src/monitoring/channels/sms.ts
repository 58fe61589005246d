import { z } from 'zod';
import type { DeliverySettings } from '../../config/config.ts';
import { anywhere } from '../../net/resolve.ts';
import { type Channel, type Limits, notConfigured, type Targets } from './channel.ts';
import { type ParsedResponse, parseJson, post } from './post.ts';
import { fitOneSegment } from './sms-text.ts';

/** Sends SMS through Twilio's Messages API. The operator sets its URL, so every address is allowed. */
export function smsChannel(settings: DeliverySettings, limits: Limits): Channel<Targets['sms']> {
  const { twilioApiUrl, twilioAccountSid, twilioAuthToken, smsFrom } = settings;
  const missing = [!twilioAccountSid && 'TWILIO_ACCOUNT_SID', !twilioAuthToken && 'TWILIO_AUTH_TOKEN', !smsFrom && 'SMS_FROM'].find(
    (setting) => setting,
  );
  return {
    missingSetting: () => missing || undefined,
    async send({ phoneNumber }, { text }) {
      if (!twilioAccountSid || !twilioAuthToken || !smsFrom) throw notConfigured(missing || 'SMS_FROM');
      const credentials = Buffer.from(`${twilioAccountSid}:${twilioAuthToken}`).toString('base64');
      const request = {
        service: 'Twilio',
        url: `${twilioApiUrl}/2010-04-01/Accounts/${twilioAccountSid}/Messages.json`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: `Basic ${credentials}` },
        body: new URLSearchParams({ To: phoneNumber, From: smsFrom, Body: fitOneSegment(text) }).toString(),
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
