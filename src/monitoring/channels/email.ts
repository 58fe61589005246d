import { connect, type Socket } from 'node:net';
import { createTransport } from 'nodemailer';
import type { DeliverySettings } from '../../config.ts';
import { NetFault, toNetFault } from '../../net/net-fault.ts';
import type { Mailbox } from '../../setting-values.ts';
import { type Channel, DeliveryFailed, type Limits, type Message, notSetUp, type Targets } from './channel.ts';
import { quotable } from './words.ts';

/** Sends mail through the operator's mail server. */
export function emailChannel({ smtpUrl, mailFrom }: DeliverySettings, limits: Limits): Channel<Targets['email']> {
  return {
    missingSetting() {
      if (!smtpUrl) return 'SMTP_URL';
      return mailFrom ? undefined : 'MAIL_FROM';
    },
    async send({ recipientEmail }, message) {
      if (!smtpUrl) throw notSetUp('SMTP_URL');
      if (!mailFrom) throw notSetUp('MAIL_FROM');
      if (!isOneAddress(recipientEmail)) throw new DeliveryFailed('The recipient is not one e-mail address.', { permanent: true });
      await submit(smtpUrl, mailOf(mailFrom, recipientEmail, message), limits);
    },
  };
}

/** Checked when it was stored, and here again: nothing in it may start a second recipient, a name or a header. */
function isOneAddress(text: string): boolean {
  return /^[^\s\p{Cc}@,;:<>()[\]\\"]+@[^\s\p{Cc}@,;:<>()[\]\\"]+$/u.test(text);
}

function mailOf(from: Mailbox, recipient: string, { id, subject, text }: Message) {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return {
    from,
    to: { name: '', address: recipient }, // as a string it would be read as a list
    envelope: { from: from.address, to: [recipient] },
    messageId: `<${id.replace(/[^\w.-]/g, '-')}@${domain}>`,
    subject: subject.replace(/[\s\p{Cc}]+/gu, ' ').trim(),
    text,
    html: htmlOf(text),
    headers: { 'Auto-Submitted': 'auto-generated' }, // keeps out-of-office replies away
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The same words for programs that show HTML: paragraphs and line breaks, nothing more. */
function htmlOf(text: string): string {
  const escaped = text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const paragraphs = escaped.split(/\n{2,}/).map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br>')}</p>`);
  return `<!doctype html>\n<html><body style="font-family: sans-serif">\n${paragraphs.join('\n')}\n</body></html>\n`;
}

async function submit(smtpUrl: string, mail: ReturnType<typeof mailOf>, { timeoutMs, maxBytes }: Limits): Promise<void> {
  let socket: Socket | undefined;
  const transport = createTransport({
    url: smtpUrl,
    maxResponseSize: maxBytes,
    // The time limits of nodemailer are for single steps. With the socket in our hands there is one for all of them.
    getSocket({ host = 'localhost', port, secure }, callback) {
      socket = connect({ host, port: Number(port) || (secure ? 465 : 587) });
      socket.on('error', () => {}); // once we have cut it off, nobody else listens
      socket.once('error', callback).once('connect', () => callback(null, { connection: socket }));
    },
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(notInTime()), timeoutMs);
  });
  try {
    await Promise.race([transport.sendMail(mail), late]);
  } catch (error) {
    throw error instanceof DeliveryFailed ? error : failureOf(error as SmtpError, smtpUrl);
  } finally {
    clearTimeout(timer);
    socket?.destroy();
  }
}

/** What nodemailer throws: its own code, that of the system below it, and what the server answered. */
type SmtpError = Error & { code?: string; originalCode?: string; responseCode?: number; response?: string };

function failureOf(error: SmtpError, smtpUrl: string): DeliveryFailed {
  const { code = '', originalCode, responseCode = 0, response = '' } = error;
  if (responseCode >= 400) {
    // A login that is not accepted is the operator's to mend, so it is tried again.
    const permanent = responseCode >= 500 && code !== 'EAUTH';
    // What it says about the login is between it and the operator.
    const words = code === 'EAUTH' ? 'it does not accept our login' : quotable(response.replace(/^\d{3}[ -]/gm, ''), secretsOf(smtpUrl));
    const said = words === '' ? '' : `: ${words}`;
    const did = permanent ? 'refused the message' : 'could not take the message for now,';
    return new DeliveryFailed(`The mail server ${did} with the code ${responseCode}${said}.`, { permanent });
  }
  if (code === 'EENVELOPE') return new DeliveryFailed('The mail server cannot be given this recipient.', { permanent: true });
  const fault = toNetFault(originalCode ? Object.assign(new Error(), { code: originalCode }) : error);
  const why = ownFaults[code] ?? (fault instanceof NetFault ? fault.message : 'the connection failed');
  return new DeliveryFailed(`The mail server could not be reached: ${why}.`, { permanent: false });
}

const ownFaults: Record<string, string> = {
  ECONNECTION: 'it closed the connection',
  EPROTOCOL: 'it does not answer as a mail server does',
  ETLS: 'no secure connection',
};

function notInTime(): DeliveryFailed {
  return new DeliveryFailed('The mail server did not answer in time.', { permanent: false });
}

function secretsOf(smtpUrl: string): string[] {
  const { username, password } = new URL(smtpUrl);
  return [decodeURIComponent(password), decodeURIComponent(username)].filter((part) => part.length > 3);
}
