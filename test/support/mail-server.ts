import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerEnvelope, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  /** The recipients of the SMTP envelope, which can differ from the headers. */
  recipients: string[];
  sender: string;
  raw: string;
  parsed: ParsedMail;
}

/** A real SMTP server on loopback that stores the messages it receives. */
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
      store(stream, envelope).then(() => done(), done);
    },
    ...options,
  });
  inner.on('error', () => {}); // Tests abort connections on purpose.
  const listening = inner.listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  const server: MailServer = {
    host: `127.0.0.1:${(listening.address() as { port: number }).port}`,
    connections: 0,
    mails: [],
    close: () => new Promise((resolve) => inner.close(resolve)),
  };

  async function store(stream: Readable, { mailFrom, rcptTo }: SMTPServerEnvelope) {
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
