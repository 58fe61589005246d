// The page that the link in a mail opens.
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteUser } from '../../src/accounts/users.ts';
import { LinkSigner } from '../../src/auth/link-signer.ts';
import { redactCredentials } from '../../src/telemetry/redact.ts';
import { createRecipient, linkTo, newAddress, open, press } from '../monitoring/recipients/recipients.ts';
import { startReceivers } from '../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let address: string;
let id: number;
let link: string;
const lines: string[] = [];

beforeAll(async () => {
  receivers = await startReceivers();
  const delivery = { ...receivers.delivery, installationName: 'Northwind <operations>' };
  const stream = new Writable({
    write(line, _, done) {
      lines.push(String(line));
      done();
    },
  });
  const log = pino({ hooks: { streamWrite: redactCredentials } }, stream); // As log.ts does.
  // Every client has an address of its own: see `from`.
  const settings = { delivery, confirmRecipients: true, trustedProxies: 'any' as const };
  service = await startService(settings, { net: receivers.net, engine: true, log });
});
beforeEach(async () => {
  user = await service.createUser();
  address = newAddress();
  id = await createRecipient(user, address);
  link = await linkTo(receivers, address);
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

let clientCount = 0;
/** A client that has not sent any request. */
const from = () => ({ headers: { 'X-Forwarded-For': `198.51.100.${++clientCount}` } });

const notValid = [404, 'This link is not valid'];
const signed = (secretKey: Buffer, ...subject: (string | number)[]) =>
  `${service.url}/confirm-recipient/${id}/${new LinkSigner([secretKey]).sign('confirm-recipient', ...subject)}`;

test('GET asks and confirms nothing; POST confirms once', async () => {
  for (let count = 0; count < 2; count++) {
    const { status, title, text } = await open(link, 'GET', from());
    expect([status, title]).toEqual([200, 'Do you want these alerts?']);
    expect(text).toContain(
      `<bdi class="address">${user.email}</bdi> wants to send alerts about websites to <bdi class="address">${address}</bdi>`,
    );
    expect(text).toContain('<form method="post"><button class="button">Confirm the address</button></form>');
  }
  expect(await open(link, 'POST', from())).toMatchObject({ status: 200, title: 'The address is confirmed' });
  for (const method of ['POST', 'GET']) {
    const { status, title, text } = await open(link, method, from());
    expect([status, title]).toEqual([200, 'The address is already confirmed']);
    expect(text).not.toContain('<form');
  }
});

test('names the installation as text, has no script, and loads only the style and the icon of the docs', async () => {
  const { text, headers } = await open(link, 'GET', from());
  expect(text).toContain('<title>Do you want these alerts? · Northwind &lt;operations&gt;</title>');
  expect(text).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=|<operations>/);
  const urls = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url = '']) => url);
  expect(new Set(urls)).toEqual(new Set(['../../docs/assets/icon.svg', '../../docs/assets/docs.css']));
  for (const url of urls) expect((await fetch(new URL(url, link))).status).toBe(200);
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
    'x-content-type-options': 'nosniff',
  });
});

describe('is not valid and confirms nothing, if', () => {
  test.each<[string, () => string | Promise<string>]>([
    ['the signature is cut', () => link.slice(0, -1)],
    ['the signature is missing', () => link.slice(0, link.lastIndexOf('/'))],
    ['something follows', () => `${link}/x`],
    ['a character is another one', () => link.slice(0, -5) + (link.at(-5) === 'A' ? 'B' : 'A') + link.slice(-4)],
    [
      'the signature is that of another provider',
      async () => {
        const other = newAddress();
        await createRecipient(user, other);
        return link.slice(0, link.lastIndexOf('/')) + (await linkTo(receivers, other)).slice(-44);
      },
    ],
    ['the provider does not exist', () => link.replace(`/${id}/`, '/999999999/')],
    ['the id is too long', () => link.replace(`/${id}/`, `/${'9'.repeat(40)}/`)],
    ['the id is not a number', () => link.replace(`/${id}/`, '/%00/')],
    ['another key has signed it', () => signed(Buffer.alloc(32, 2), id, address)],
    ['another address was signed', () => signed(Buffer.alloc(32, 1), id, 'other@example.com')],
    [
      'the provider is deleted',
      async () => {
        await user.api.delete(`/api/providers/${id}`);
        return link;
      },
    ],
    [
      'the user is deleted',
      async () => {
        await deleteUser(service.database, user.id);
        return link;
      },
    ],
    [
      'the user is suspended',
      async () => {
        await service.database.asEngine((em) => em.execute('select operator_set_suspended(?, true)', [user.id]));
        return link;
      },
    ],
  ])('%s', async (_, change) => {
    const changed = await change();
    for (const method of ['GET', 'POST']) {
      const { status, title, headers } = await open(changed, method, from());
      expect([status, title]).toEqual(notValid);
      expect(headers.get('Referrer-Policy')).toBe('no-referrer');
    }
    const [row] = await service.database.asEngine((em) =>
      em.execute<{ recipient_unconfirmed: boolean }[]>('select recipient_unconfirmed from providers where id = ?', [id]),
    );
    expect(row?.recipient_unconfirmed ?? true).toBe(true);
  });

  test('the provider is not one for mail', async () => {
    const { body } = await user.api.post('/api/providers', { json: receivers.providers.telegram });
    const other = link.replace(`/${id}/`, `/${body.data.id}/`);
    expect((await open(other, 'POST', from())).status).toBe(404);
  });
});

test('a link that an older key has signed is valid', async () => {
  expect(signed(Buffer.alloc(32, 1), id, address)).toBe(link);
});

test.each(['HEAD', 'PUT', 'DELETE', 'OPTIONS'])('%s returns 405 with Allow', async (method) => {
  const { status, headers, text } = await open(link, method, from());
  expect([status, headers.get('Allow')]).toEqual([405, 'GET, POST']);
  if (method !== 'HEAD') expect(text).not.toContain(link.slice(-43));
  expect((await open(link, 'GET', from())).title).toBe('Do you want these alerts?');
});

test('ignores a body, whatever it is', async () => {
  const body = Buffer.alloc(300_000, '{"');
  const { status, title } = await open(link, 'POST', {
    ...from(),
    body,
    headers: { ...from().headers, 'Content-Type': 'application/json' },
  });
  expect([status, title]).toEqual([200, 'The address is confirmed']);
});

test('a client address can request 60 pages a minute', async () => {
  const client = from();
  const statuses = [];
  for (let count = 0; count < 61; count++) statuses.push((await open(`${service.url}/confirm-recipient/x`, 'GET', client)).status);
  expect(new Set(statuses.slice(0, 60))).toEqual(new Set([404]));
  const { status, headers } = await open(link, 'POST', client);
  expect([statuses[60], status]).toEqual([429, 429]);
  expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
  expect((await open(link, 'GET', from())).status).toBe(200);
});

describe('the signature is in no log and no problem', () => {
  test.each<[string, string, (signature: string) => string]>([
    ['a page', 'GET', (signature) => `/confirm-recipient/1/${signature}`],
    ['the button', 'POST', (signature) => `/confirm-recipient/1/${signature}`],
    ['another method', 'PUT', (signature) => `/confirm-recipient/1/${signature}`],
    ['a part of it', 'PUT', (signature) => `/confirm-recipient/1/${signature.slice(0, 20)}`],
    ['a missing id', 'PUT', (signature) => `/confirm-recipient/${signature}`],
    ['a mistyped path', 'GET', (signature) => `/confirm-recipent/1/${signature}`],
    ['encoded slashes', 'GET', (signature) => `/confirm-recipient%2F1%2F${signature}`],
    ['any path, if it is also the request ID', 'GET', () => '/api/monitors'],
  ])('for %s', async (_, method, pathOf) => {
    const signature = link.slice(-43);
    const before = lines.length;
    const response = await fetch(service.url + pathOf(signature), { method, headers: { ...from().headers, 'X-Request-Id': signature } });
    const text = (await response.text()) + response.headers.get('X-Request-Id');
    await expect.poll(() => lines.slice(before).some((line) => line.includes('"method"')), { timeout: 10_000 }).toBe(true);
    const shown = text + lines.slice(before).join('');
    expect(shown).not.toContain(signature.slice(0, 20));
  });
});

test('a link begins with the public URL', async () => {
  const prefixed = await startService(
    { delivery: receivers.delivery, confirmRecipients: true },
    { net: receivers.net, engine: true, database: service.database, publicUrl: 'https://status.example' },
  );
  const other = newAddress();
  const otherId = await createRecipient(await prefixed.createUser(), other);
  const prefixedLink = await linkTo(receivers, other);
  expect(prefixedLink.startsWith(`https://status.example/confirm-recipient/${otherId}/`)).toBe(true);
  expect((await press(prefixedLink.replace('https://status.example', prefixed.url))).status).toBe(200);
  await prefixed.stop();
});
