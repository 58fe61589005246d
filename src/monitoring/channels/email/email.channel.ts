import escapeHtml from 'escape-html';
import type { Mailbox } from '../../../config/setting-values.ts';
import { NetworkError, toNetworkError } from '../../../net/network-error.ts';
import { type SmtpError, submitMail } from '../../../net/smtp.ts';
import { type Channel, type ChannelDeps, type ChannelSettings, DeliveryFailed, type Message, notConfigured } from '../channel.ts';
import { quoteSafely } from '../redact.ts';

/** Sends mail through the operator's mail server. */
export function emailChannel({ settings: { smtpUrl, mailFrom }, limits }: ChannelDeps): Channel<ChannelSettings<'email'>> {
  return {
    name: 'E-mail',
    receiver: 'the mail server',
    fields: { recipient_email: 'plain' },
    acceptsEmoji: true,
    missingSetting() {
      if (!smtpUrl) return 'SMTP_URL';
      return mailFrom ? undefined : 'MAIL_FROM';
    },
    async send({ recipient_email: recipient }, message) {
      if (!smtpUrl) throw notConfigured('SMTP_URL');
      if (!mailFrom) throw notConfigured('MAIL_FROM');
      if (!isSingleAddress(recipient)) throw new DeliveryFailed('The recipient is not a single e-mail address.', { permanent: true });
      try {
        await submitMail(smtpUrl, composeMail(mailFrom, recipient, message), limits);
      } catch (error) {
        throw classifyError(error as SmtpError, smtpUrl);
      }
    },
  };
}

/** Checked when it was stored and again here: the address must not add a second recipient, a display name or a header. */
function isSingleAddress(text: string): boolean {
  return /^[^\s\p{Cc}@,;:<>()[\]\\"]+@[^\s\p{Cc}@,;:<>()[\]\\"]+$/u.test(text);
}

function composeMail(from: Mailbox, recipient: string, { id, subject, text }: Message) {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return {
    from,
    to: { name: '', address: recipient }, // A string would be parsed as a list.
    envelope: { from: from.address, to: [recipient] },
    messageId: `<${id.replace(/[^\w.-]/g, '-')}@${domain}>`,
    subject: subject.replace(/[\s\p{Cc}]+/gu, ' ').trim(),
    text,
    html: toHtml(text),
    headers: { 'Auto-Submitted': 'auto-generated' }, // Prevents out-of-office replies.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The same text as HTML, with paragraphs and line breaks only. */
function toHtml(text: string): string {
  const paragraphs = escapeHtml(text)
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br>')}</p>`);
  return `<!doctype html>\n<html><body style="font-family: sans-serif">\n${paragraphs.join('\n')}\n</body></html>\n`;
}

function classifyError(error: SmtpError, smtpUrl: string): DeliveryFailed {
  if (error instanceof NetworkError) return new DeliveryFailed('The mail server did not respond in time.', { permanent: false });
  const { code = '', originalCode, responseCode = 0, response = '' } = error;
  if (responseCode >= 400) {
    // The operator can fix a rejected login, so the delivery is retried.
    const permanent = responseCode >= 500 && code !== 'EAUTH';
    // The server's response to a login is not shown to users.
    const reason =
      code === 'EAUTH' ? 'it rejected the login of this service' : quoteSafely(response.replace(/^\d{3}[ -]/gm, ''), secretsOf(smtpUrl));
    const action = permanent ? 'rejected the message' : 'temporarily rejected the message';
    return new DeliveryFailed(`The mail server ${action} with status ${responseCode}${reason === '' ? '' : `: ${reason}`}.`, { permanent });
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
