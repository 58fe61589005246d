import { connect, type Socket } from 'node:net';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { NetworkError } from './network-error.ts';

/** An error thrown by nodemailer, with its own code, that of the system, and the server's response. */
export type SmtpError = Error & { code?: string; originalCode?: string; responseCode?: number; response?: string };

/** Hands a mail to the operator's mail server. Throws NetworkError on a timeout, and SmtpError otherwise. */
export async function submitMail(
  smtpUrl: string,
  mail: SendMailOptions,
  { timeoutMs, maxBytes }: { timeoutMs: number; maxBytes: number },
): Promise<void> {
  let socket: Socket | undefined;
  const transport = createTransport({
    url: smtpUrl,
    maxResponseSize: maxBytes,
    // The timeouts of nodemailer apply to single steps. With our own socket there can be one for the whole delivery.
    getSocket({ host = 'localhost', port, secure }, callback) {
      socket = connect({ host, port: Number(port) || (secure ? 465 : 587) });
      socket.on('error', () => {}); // After the timeout there is no other listener.
      socket.once('error', callback).once('connect', () => callback(null, { connection: socket }));
    },
  });
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NetworkError('timeout', 'timed out')), timeoutMs);
  });
  try {
    await Promise.race([transport.sendMail(mail), timeout]);
  } finally {
    clearTimeout(timer);
    socket?.destroy();
  }
}
