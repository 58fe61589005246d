import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { Cookies } from '../../src/net/cookies.ts';
import { guardedRequest } from '../../src/net/guarded-request.ts';
import { type Authority, createAuthority, trust } from '../support/certificates.ts';
import { startHttp2Server } from '../support/http2-server.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';

const host = '127.0.0.2';
const net = { allow: parseRanges([host]), lookup: async () => [{ address: host, family: 4 }] };
const get = (url: string, keepsCookies = true) =>
  guardedRequest(url, { timeoutMs: 20_000, maxBytes: 1000, maxRedirects: 5, keepsCookies }, net);

let authority: Authority;
let server: WebServer;
let secure: WebServer;

beforeAll(async () => {
  authority = await createAuthority();
  trust(authority);
  server = await startWebServer({ host });
  secure = await startWebServer({ host, certificate: await authority.issue('shop.example') });
});
afterEach(() => {
  for (const { requests } of [server, secure]) requests.length = 0;
});
afterAll(() => Promise.all([server.close(), secure.close()]));

/** Redirects from / to the location, with cookies. Returns the cookies that are sent there. */
async function cookiesSentTo(location: string, setCookie: string[], to = server): Promise<string | undefined> {
  server.script = ({ path }, response) =>
    path === '/' ? response.writeHead(302, { location, 'set-cookie': setCookie }).end() : response.end();
  expect(await get(`http://shop.example:${server.port}/`)).toMatchObject({ status: 200 });
  return to.requests.at(-1)?.headers.cookie;
}

const on = (name: string, path = '/end') => `http://${name}:${server.port}${path}`;

describe('cookies of a redirect', () => {
  test('are sent with all further requests, and not with those of the next check', async () => {
    server.script = ({ path, headers }, response) => {
      if (path === '/') response.writeHead(302, { location: '/login', 'set-cookie': ['seen=1', 'lang=de; HttpOnly'] }).end();
      else if (path === '/login') response.writeHead(302, { location: '/end', 'set-cookie': ['seen=2; Path=/'] }).end();
      else response.writeHead(headers.cookie === 'lang=de; seen=2' || headers.cookie === 'seen=2; lang=de' ? 200 : 403).end();
    };
    const url = `http://shop.example:${server.port}/`;
    expect(await get(url)).toMatchObject({ status: 200 });
    expect(await get(url)).toMatchObject({ status: 200 });
    expect(server.requests.map(({ headers }) => headers.cookie !== undefined)).toEqual([false, true, true, false, true, true]);
  });

  test('are not kept unless asked for', async () => {
    server.script = ({ path }, response) =>
      path === '/' ? response.writeHead(302, { location: '/end', 'set-cookie': 'a=b' }).end() : response.end();
    await get(`http://shop.example:${server.port}/`, false);
    expect(server.requests[1]?.headers).not.toHaveProperty('cookie');
  });

  test('are sent over HTTP/2', async () => {
    const http2 = await startHttp2Server(host);
    server.script = (_, response) =>
      response.writeHead(302, { location: `http://shop.example:${http2.port}/`, 'set-cookie': ['a=b', 'c=d'] }).end();
    await get(`http://shop.example:${server.port}/`);
    expect(http2.requests[0]?.headers.cookie).toBe('a=b; c=d');
    await http2.close();
  });

  test.each([
    ['are not sent to another host', 'other.example', 'a=b', undefined],
    ['are not sent to a subdomain if they are for the host only', 'www.shop.example', 'a=b', undefined],
    ['are sent to a subdomain if they are for the domain', 'www.shop.example', 'a=b; Domain=shop.example', 'a=b'],
    ['cannot be for the parent domain if that is a public suffix', 'example', 'a=b; Domain=example', undefined],
    ['are not sent to a host whose name ends the same', 'myshop.example', 'a=b; Domain=shop.example', undefined],
  ])('%s', async (_, name, cookie, expected) => {
    expect(await cookiesSentTo(on(name), [cookie])).toBe(expected);
  });

  test.each([
    ['are not sent to another path', '/end', 'a=b; Path=/login', undefined],
    ['are sent to a path below theirs', '/login/end', 'a=b; Path=/login', 'a=b'],
    ['are not sent to a path that begins the same', '/login2', 'a=b; Path=/login', undefined],
  ])('%s', async (_, path, cookie, expected) => {
    expect(await cookiesSentTo(path, [cookie])).toBe(expected);
  });

  test('are not sent after they have expired', async () => {
    const expired = ['a=b; Max-Age=0', 'c=d; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'e=f; Max-Age=60'];
    expect(await cookiesSentTo('/end', expired)).toBe('e=f');
  });

  test('that are Secure are set and sent only over https', async () => {
    expect(await cookiesSentTo(`https://shop.example:${secure.port}/`, ['a=b; Secure', 'c=d'], secure)).toBe('c=d');
    secure.script = (_, response) => response.writeHead(302, { location: on('shop.example'), 'set-cookie': ['a=b; Secure', 'c=d'] }).end();
    await get(`https://shop.example:${secure.port}/`);
    expect(server.requests.at(-1)?.headers.cookie).toBe('c=d');
  });
});

describe('limits', () => {
  const url = new URL('http://www.shop.co.uk/');
  const header = (setCookie: string[], from = url) => {
    const cookies = new Cookies();
    cookies.store(setCookie, from);
    return cookies.headerFor(from);
  };

  test('cookies for a public suffix are ignored', () => {
    expect(header(['a=b; Domain=co.uk', 'c=d; Domain=shop.co.uk'])).toBe('c=d');
  });

  test('a Secure cookie is for https, also on this machine', () => {
    const cookies = new Cookies();
    cookies.store(['a=b; Secure'], new URL('https://127.0.0.1/'));
    expect(cookies.headerFor(new URL('http://127.0.0.1/'))).toBeUndefined();
    expect(cookies.headerFor(new URL('https://127.0.0.1/'))).toBe('a=b');
  });

  test('invalid cookies are ignored', () => {
    const invalid = ['', '=', ';', 'no-value', 'a=b; Domain=[', 'a=b; Path=__proto__; Domain=__proto__', '__proto__=x'];
    expect(header([...invalid, 'c=d'], new URL('http://[::1]/'))).toBe('__proto__=x; c=d');
  });

  test.each(['test', 'example', 'localhost', 'local', 'co.uk', 'a', '1.2.3.4', '[::1]', 'xn--a', '%C3%A4.example', '-', '_', 'a..b'])(
    'cookies from and for %s cause no error',
    (name) => {
      const from = URL.parse(`http://${name}/`) ?? url;
      expect(() => header(['a=b', `c=d; Domain=${name}`], from)).not.toThrow();
      const cookies = new Cookies();
      cookies.store(['a=b'], url);
      expect(cookies.headerFor(from)).toBe(from === url ? 'a=b' : undefined);
    },
  );

  test('a cookie has at most 4 KiB', () => {
    const fits = `a=${'x'.repeat(4094)}`;
    expect(header([`${fits}x`, 'c=d'])).toBe('c=d');
    expect(header([fits])).toBe(fits);
  });

  test('there are at most 50', () => {
    const many = Array.from({ length: 60 }, (_, index) => `c${index}=1`);
    expect(header(many)?.split('; ')).toEqual(many.slice(0, 50));
  });

  test('there are at most 50 of all responses together', () => {
    const cookies = new Cookies();
    for (const name of ['a', 'b']) {
      const many = Array.from({ length: 30 }, (_, index) => `${name}${index}=1`);
      cookies.store(many, url);
    }
    expect(cookies.headerFor(url)?.split('; ')).toHaveLength(50);
  });

  test('together they have at most 8 KiB, and exactly 8 KiB are sent', () => {
    expect(header(['a', 'b'].map((name) => `${name}=${'x'.repeat(4093)}`))).toHaveLength(8192); // With "; " between them.
    const sent = header(['a', 'b', 'c', 'd'].map((name) => `${name}=${'x'.repeat(3000)}`)) ?? '';
    expect(sent.split('; ').map((cookie) => cookie[0])).toEqual(['a', 'b']);
  });
});
