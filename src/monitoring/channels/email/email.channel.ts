import type { Mailbox } from '../../../config/setting-values.ts';
import { NetworkError, toNetworkError } from '../../../net/network-error.ts';
import { type SmtpError, submitMail } from '../../../net/smtp.ts';
import { type Channel, type ChannelDeps, type ChannelSettings, DeliveryFailed, type Message, notConfigured } from '../channel.ts';
import { quoteSafely } from '../redact.ts';
import { mailText } from './email-message.ts';

/** Sends mail through the operator's mail server. */
export function emailChannel({
  settings: { smtpUrl, mailFrom, installationName },
  limits,
}: ChannelDeps): Channel<ChannelSettings<'email'>> {
  return {
    name: 'E-mail',
    receiver: 'the mail server',
    fields: { recipient_email: 'plain' },
    audience: 'people',
    missingSetting() {
      if (!smtpUrl) return 'SMTP_URL';
      return mailFrom ? undefined : 'MAIL_FROM';
    },
    async send({ recipient_email: recipient }, message) {
      if (!smtpUrl) throw notConfigured('SMTP_URL');
      if (!mailFrom) throw notConfigured('MAIL_FROM');
      if (!isSingleAddress(recipient)) throw new DeliveryFailed('The recipient is not a single e-mail address.', { permanent: true });
      try {
        await submitMail(smtpUrl, composeMail({ from: mailFrom, recipient, installation: installationName }, message), limits);
      } catch (error) {
        throw classifyError(error as SmtpError, [...secretsOf(smtpUrl), ...secretsIn(message)]);
      }
    },
  };
}

/** Checked when it was stored and again here: the address must not add a second recipient, a display name or a header. */
function isSingleAddress(text: string): boolean {
  return /^[^\s\p{Cc}@,;:<>()[\]\\"]+@[^\s\p{Cc}@,;:<>()[\]\\"]+$/u.test(text);
}

interface Envelope {
  from: Mailbox;
  recipient: string;
  installation: string;
}

function composeMail({ from, recipient, installation }: Envelope, { id, continues, event, content }: Message) {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  const idOf = (message: string) => `<${message.replace(/[^\w.-]/g, '-')}@${domain}>`;
  const incidentId = content.about === 'monitor' && 'monitor' in event.data ? event.data.incident?.id : undefined;
  return {
    from,
    to: { name: '', address: recipient }, // A string would be parsed as a list.
    envelope: { from: from.address, to: [recipient] },
    messageId: idOf(id),
    ...(continues !== undefined && { inReplyTo: idOf(continues), references: idOf(continues) }),
    ...mailText(content, { recipient, installation, incidentId }),
    headers: { 'Auto-Submitted': 'auto-generated' }, // Prevents out-of-office replies.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function classifyError(error: SmtpError, secrets: string[]): DeliveryFailed {
  if (error instanceof NetworkError) return new DeliveryFailed('The mail server did not respond in time.', { permanent: false });
  const { code = '', originalCode, responseCode = 0, response = '' } = error;
  if (responseCode >= 400) {
    // The operator can fix a rejected login, so the delivery is retried.
    const permanent = responseCode >= 500 && code !== 'EAUTH';
    // The server's response to a login is not shown to users.
    const reason = code === 'EAUTH' ? 'it rejected the login of this service' : quoteSafely(response.replace(/^\d{3}[ -]/gm, ''), secrets);
    const action = permanent ? 'rejected the message' : 'temporarily rejected the message';
    return new DeliveryFailed(`The mail server ${action} with status ${responseCode}${reason === '' ? '' : `: ${reason}`}.`, {
      permanent,
      settings: code === 'EAUTH' ? ['SMTP_URL'] : [],
    });
  }
  const networkError = toNetworkError(originalCode ? Object.assign(new Error(), { code: originalCode }) : error);
  const reason = smtpErrors[code] ?? (networkError instanceof NetworkError ? networkError.message : 'the connection failed');
  return new DeliveryFailed(`The mail server could not be reached: ${reason}.`, { permanent: false });
}

const smtpErrors: Record<string, string> = {
  ECONNECTION: 'it closed the connection',
  EPROTOCOL: 'its response is not valid SMTP',
  ETLS: 'the TLS handshake failed',
};

function secretsOf(smtpUrl: string): string[] {
  const { username, password } = new URL(smtpUrl);
  return [decodeURIComponent(password), decodeURIComponent(username)].filter((part) => part.length > 3);
}

/** The link that confirms an address is only for its reader. A server may quote a part of it, or break it, so every part is a secret. */
function secretsIn({ event }: Message): string[] {
  if (event.type !== 'recipient.confirmation') return [];
  const signature = event.data.url.slice(event.data.url.lastIndexOf('/') + 1);
  return Array.from({ length: signature.length - 7 }, (_, index) => signature.slice(index, index + 8));
}
