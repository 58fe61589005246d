import { type Cookie, CookieJar } from 'tough-cookie';

const maxCookies = 50;
const maxCookieBytes = 4096;
const maxHeaderBytes = 8192;

/** The cookies of one request and its redirects, by the rules of browsers. */
export class Cookies {
  // Secure means https, also on this machine.
  readonly #jar = new CookieJar(undefined, { allowSecureOnLocal: false });
  #received = 0;

  /** Stores the cookies of a response. Invalid ones and those beyond the limits are ignored. */
  store(setCookie: string[], url: URL): void {
    for (const cookie of setCookie) {
      if (Buffer.byteLength(cookie) > maxCookieBytes) continue;
      if (++this.#received > maxCookies) return;
      this.#jar.setCookieSync(cookie, url.href, { ignoreError: true });
    }
  }

  /** Returns the header Cookie for a URL, or undefined if there is none. */
  headerFor(url: URL): string | undefined {
    let header = '';
    for (const cookie of this.#cookiesFor(url)) {
      const longer = header === '' ? cookie.cookieString() : `${header}; ${cookie.cookieString()}`;
      if (Buffer.byteLength(longer) <= maxHeaderBytes) header = longer;
    }
    return header === '' ? undefined : header;
  }

  #cookiesFor(url: URL): Cookie[] {
    try {
      return this.#jar.getCookiesSync(url.href);
    } catch {
      return []; // It throws if the host is a reserved suffix, such as http://test/. No cookie is for these.
    }
  }
}
