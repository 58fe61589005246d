import type { Context } from 'koa';
import { sessionMaxAgeSeconds } from '../access/session.ts';

/** The cookie that carries a session. Over https its name binds it to this very host. */
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

  /** null clears it. */
  write(ctx: Context, token: string | null) {
    ctx.set('Set-Cookie', `${this.#name}=${token ?? ''}; Max-Age=${token === null ? 0 : sessionMaxAgeSeconds}; ${this.#attributes}`);
  }
}
