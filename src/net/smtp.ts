import { connect, type Socket } from 'node:net';
import type { SendMailOptions } from 'nodemailer';
import { inSpan } from '../telemetry/tracing.ts';
import { NetworkError } from './network-error.ts';

/** An error thrown by nodemailer, with its own code, that of the system, and the server's response. */
export type SmtpError = Error & { code?: string; originalCode?: string; responseCode?: number; response?: string };

interface Limits {
  timeoutMs: number;
  maxBytes: number;
}

/** Hands a mail to the operator's mail server. Throws NetworkError on a timeout, and SmtpError otherwise. */
export function submitMail(smtpUrl: string, mail: SendMailOptions, limits: Limits): Promise<void> {
  const { hostname, port, protocol } = new URL(smtpUrl);
  const attributes = {
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'smtps:' ? 465 : 587),
    'network.protocol.name': 'smtp',
  };
  return inSpan('send mail', { kind: 'client', attributes }, () => submit(smtpUrl, mail, limits));
}

async function submit(smtpUrl: string, mail: SendMailOptions, { timeoutMs, maxBytes }: Limits): Promise<void> {
  const { createTransport } = await import('nodemailer'); // Most processes never send mail, or not soon.
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
