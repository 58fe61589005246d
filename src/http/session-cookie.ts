import type { Context } from 'koa';
import { sessionMaxAgeSeconds } from '../auth/session.ts';

/** The session cookie. Over https, the `__Host-` prefix binds it to this host. */
export class SessionCookie {
  readonly #name: string;
  readonly #isSecure: boolean;

  constructor(publicUrl: string) {
    this.#isSecure = publicUrl.startsWith('https:');
    this.#name = this.#isSecure ? '__Host-sitekeeper_session' : 'sitekeeper_session';
  }

  read(ctx: Context): string | undefined {
    return ctx.headers.cookie === undefined ? undefined : ctx.cookies.get(this.#name);
  }

  /** Null clears the cookie. */
  write(ctx: Context, token: string | null) {
    // A proxy decrypts https, so the connection itself does not show whether the client uses it.
    ctx.cookies.secure = this.#isSecure;
    ctx.cookies.set(this.#name, token, {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: this.#isSecure,
      maxAge: sessionMaxAgeSeconds * 1000,
      overwrite: true,
      signed: false,
    });
  }
}
