// A client behind a proxy that claims to have another address.
import { readFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { findNginx, startNginx } from '../operations/nginx.ts';
import { guarantee } from '../support/guarantee.ts';
import { startAbusedService } from './support/service.ts';

/** Requests without a key per minute and address. */
const limit = 60;

guarantee(
  14,
  'A client behind a proxy cannot choose its address, even if its own address is in a trusted range',
  async () => {
    const example = /^TRUSTED_PROXIES=(.*)$/m.exec(await readFile('deploy/sitekeeper.env.example', 'utf8'))?.[1] ?? '';
    const measured: string[] = [];
    for (const setting of [example, 'loopback,uniquelocal']) {
      const service = await startAbusedService({ users: 0, settings: { TRUSTED_PROXIES: setting } });
      const proxy = await startAppendingProxy(service.url);
      try {
        const rejected = await countRejected(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
        expect([setting, rejected]).toEqual([setting, 20]);
        measured.push(`${setting}: ${rejected} of ${limit + 20} rejected`);
      } finally {
        proxy.close();
        await service.remove();
      }
    }
    const nginx = findNginx();
    if (!nginx && process.env.CI) throw new Error('The proxy of deploy/nginx.conf is not tested, because that requires nginx.');
    if (nginx) {
      const service = await startAbusedService({ users: 0, settings: { TRUSTED_PROXIES: 'loopback' } });
      const port = Number(new URL(service.url).port);
      const proxy = await startNginx(nginx, [port, port]);
      try {
        expect(await countRejected(proxy.url)).toBe(20);
        measured.push('the same behind deploy/nginx.conf');
      } finally {
        await proxy.stop();
        await service.remove();
      }
    }
    return measured.join('; ');
  },
  240_000,
);

/** Sends more requests than the limit allows, each with another claimed address. Returns how many were rejected. */
async function countRejected(url: string): Promise<number> {
  let rejected = 0;
  for (let n = 0; n < limit + 20; n++) {
    const { status } = await fetch(`${url}/api/monitors`, { headers: { 'X-Forwarded-For': `192.0.2.${n}, 10.0.0.${n}` } });
    expect([401, 429]).toContain(status);
    if (status === 429) rejected++;
  }
  return rejected;
}

/** Appends the address that it sees, as most proxies do. The client and the proxy are on loopback, which is trusted. */
async function startAppendingProxy(target: string): Promise<Server> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const { headers, method, url, socket } = incoming;
    const appended = [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ');
    const forwarded = request({ hostname, port, method, path: url, headers: { ...headers, 'x-forwarded-for': appended } }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
