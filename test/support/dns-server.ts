import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';

/** The address of a name (IPv6: all eight groups), null if it does not exist, undefined to send no response, or an error: 'SERVFAIL' or 'REFUSED'. */
export type DnsAnswer = string | null | undefined;

/** Starts a DNS server on loopback. It can take its time to answer. */
export async function startDnsServer(addressOf: (name: string) => DnsAnswer | Promise<DnsAnswer>, port = 0) {
  const socket = createSocket('udp4');
  socket.on('message', async (question, from) => {
    const { name, end } = readName(question);
    const address = await addressOf(name);
    if (address === undefined) return;
    const code = address === null ? 3 : (errorCodes[address] ?? 0);
    const record = address !== null && code === 0 ? addressRecord(address) : undefined;
    const answers = record?.readUInt16BE(2) === question.readUInt16BE(end) ? [record] : [];
    const head = Buffer.from(question.subarray(0, 12));
    head.writeUInt16BE(0x8180 + code, 2);
    head.writeUInt16BE(answers.length, 6);
    head.fill(0, 8); // No authority records and no additional records.
    socket.send(Buffer.concat([head, question.subarray(12, end + 4), ...answers]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(port, '127.0.0.1', resolve));
  const resolver = new Resolver({ timeout: 5000, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return { resolver, close: () => new Promise<void>((resolve) => socket.close(resolve)) };
}

const errorCodes: Record<string, number> = { SERVFAIL: 2, REFUSED: 5 };

function readName(question: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}

/** An A or AAAA record in class IN with a TTL of 0. Its name points to the name in the question. */
function addressRecord(address: string): Buffer {
  const bytes = isIPv6(address)
    ? address.split(':').flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
    : address.split('.').map(Number);
  return Buffer.from([0xc0, 12, 0, bytes.length === 16 ? 28 : 1, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
}
