// Responses that are large, and clients that do not read them.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { startStopwatch } from '../support/stall.ts';
import { peakMemory, resetPeakMemory } from './support/measure.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

const maxBytes = 2 * 1024 * 1024;
const clients = 40;
/** More for each connection than the buffers of the operating system take, which is about 10 MB. */
const responsesPerClient = 12;

/** Just below 8 KiB as JSON. */
const addresses = Array.from({ length: 198 }, (_, index) => `2001:db8:1111:2222:3333:4444:5555:${(0x1000 + index).toString(16)}`).join(
  '\n',
);

let service: AbusedService;
const sockets: Socket[] = [];

beforeAll(async () => {
  service = await startAbusedService({ users: 2 });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await service?.remove();
});

/** Distinct lines of quotes, each of which takes two bytes in JSON. The list has this many bytes as JSON. */
function lines(bytes: number): string {
  const entries: string[] = [];
  for (let left = bytes - 2, index = 0; left > 0; index++) {
    const number = String(index);
    const quotes = Math.min(120, Math.floor((left - number.length - 2) / 2));
    if (quotes <= 0) break;
    entries.push(`${'"'.repeat(quotes)}${number}`);
    left -= 2 * quotes + number.length + 2;
  }
  return entries.join('\n');
}

/** Returns how many bytes the service has sent on each of its open connections to these clients. A client that does not read cannot tell. */
function sentOnOpenConnections(url: string): Map<number, number> {
  const established = /^ *\d+: [0-9A-F]+:([0-9A-F]+) [0-9A-F]+:([0-9A-F]+) 01 ([0-9A-F]+):([0-9A-F]+)/gm;
  const queues = new Map<string, { toSend: number; unread: number }>();
  for (const [, ...row] of readFileSync('/proc/net/tcp', 'utf8').matchAll(established)) {
    const [from = 0, to = 0, toSend = 0, unread = 0] = row.map((hex) => Number.parseInt(hex, 16));
    queues.set(`${from} ${to}`, { toSend, unread });
  }
  const { port } = new URL(url);
  const sent = new Map<number, number>();
  for (const { localPort = 0 } of sockets) {
    const [ofService, ofClient] = [queues.get(`${port} ${localPort}`), queues.get(`${localPort} ${port}`)];
    if (ofService) sent.set(localPort, ofService.toSend + (ofClient?.unread ?? 0));
  }
  return sent;
}

guarantee(
  7,
  'A list has at most 2 MiB, and clients that do not read it are all disconnected within 40 s after the last byte, while others are served',
  async () => {
    const [attacker, honest] = service.users;
    const api = service.as(attacker);
    for (let index = 0; index < 100; index++) {
      const form = { domain: `large-${index}.example`, exclude_params: lines(8150), exclude_ips: addresses };
      expect((await api.post('/api/v1/websites', { form })).status).toBe(201);
    }
    const rejected = await api.post('/api/v1/websites', { form: { domain: 'control.example', exclude_params: '\u0001'.repeat(100) } });
    expect([rejected.status, rejected.body.errors[0].code]).toEqual([422, 'invalid_line']);
    const longest = await api.post('/api/v1/websites', { form: { domain: 'longest.example', exclude_params: lines(130_000) } });
    expect(longest.status).toBe(201);
    const first = await api.get('/api/v1/websites?per_page=10');
    expect(first.body.data[0]).toMatchObject({ domain: 'longest.example', exclude_params: null, omitted_fields: ['exclude_params'] });

    const list = '/api/v1/websites?per_page=100&sort=asc';
    const bytes = Buffer.byteLength((await api.get(list)).text);
    expect(bytes).toBeLessThanOrEqual(maxBytes);

    resetPeakMemory(service);
    const before = peakMemory(service);
    const { body } = await api.post('/api/keys', { json: { name: 'Second', scopes: ['websites:read'] } });
    const second: string = body.data.key;
    for (let index = 0; index < clients; index++) {
      const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' });
      socket.on('error', () => {});
      const key = index % 2 ? attacker?.key : second; // A key has 600 requests per minute.
      for (let request = 0; request < responsesPerClient; request++)
        socket.write(`GET ${list} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      socket.pause();
      sockets.push(socket);
    }
    await expect.poll(() => sentOnOpenConnections(service.url).size, { timeout: 20_000, interval: 10 }).toBe(clients);
    const latencies: number[] = [];
    const sentBefore = new Map<number, number>();
    let sinceLastByte = startStopwatch();
    for (;;) {
      const sent = sentOnOpenConnections(service.url);
      if (sent.size === 0) break;
      if ([...sent].some(([port, bytes]) => bytes > (sentBefore.get(port) ?? 0))) sinceLastByte = startStopwatch();
      for (const [port, bytes] of sent) sentBefore.set(port, bytes);
      const start = performance.now();
      expect((await service.as(honest).get('/api/monitors')).status).toBe(200);
      latencies.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const closed = sinceLastByte();
    expect(Math.min(...sentBefore.values())).toBeGreaterThan(bytes);
    // Otherwise the others would have waited for these clients.
    expect(latencies.length).toBeGreaterThan(10);
    expect(service.child.exitCode).toBeNull();
    latencies.sort((a, b) => a - b);
    return {
      elapsed: [closed],
      measured: `largest list ${(bytes / 1024 / 1024).toFixed(2)} MiB; ${clients} clients × ${responsesPerClient} unread responses: all closed, peak memory ${peakMemory(service).toFixed(0)} MB (before ${before.toFixed(0)} MB); others: p50 ${latencies[latencies.length >> 1]?.toFixed(0)} ms, longest ${latencies.at(-1)?.toFixed(0)} ms`,
    };
  },
  240_000,
);
