import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerEnvelope, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  /** Whom the server was told to deliver to, whatever the headers say. */
  recipients: string[];
  sender: string;
  raw: string;
  parsed: ParsedMail;
}

/** A real SMTP server on loopback that keeps what it is given. */
export interface MailServer {
  host: string;
  connections: number;
  mails: ReceivedMail[];
  close(): Promise<void>;
}

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const inner = new SMTPServer({
    authOptional: true,
    disabledCommands: options.cert ? [] : ['STARTTLS'],
    disableReverseLookup: true,
    onConnect(_, done) {
      server.connections++;
      done();
    },
    onData(stream, { envelope }, done) {
      keep(stream, envelope).then(() => done(), done);
    },
    ...options,
  });
  inner.on('error', () => {}); // connections that a test breaks off
  const listening = inner.listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  const server: MailServer = {
    host: `127.0.0.1:${(listening.address() as { port: number }).port}`,
    connections: 0,
    mails: [],
    close: () => new Promise((resolve) => inner.close(resolve)),
  };

  async function keep(stream: Readable, { mailFrom, rcptTo }: SMTPServerEnvelope) {
    const raw = await buffer(stream);
    server.mails.push({
      recipients: rcptTo.map(({ address }) => address),
      sender: mailFrom ? mailFrom.address : '',
      raw: raw.toString(),
      parsed: await simpleParser(raw),
    });
  }

  return server;
}
