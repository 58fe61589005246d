import type { Context } from 'koa';
import { sessionMaxAgeSeconds } from '../auth/session.ts';

/** The session cookie. Over https, the `__Host-` prefix binds it to this host. */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;

  constructor(publicUrl: string) {
    const isSecure = publicUrl.startsWith('https:');
    this.#name = isSecure ? '__Host-sitekeeper_session' : 'sitekeeper_session';
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  read(ctx: Context): string | undefined {
    return ctx.headers.cookie === undefined ? undefined : ctx.cookies.get(this.#name);
  }

  /** Null clears the cookie. */
  write(ctx: Context, token: string | null) {
    ctx.set('Set-Cookie', `${this.#name}=${token ?? ''}; Max-Age=${token === null ? 0 : sessionMaxAgeSeconds}; ${this.#attributes}`);
  }
}
