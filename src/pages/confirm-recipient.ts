import type { Context, Middleware } from 'koa';
import { ProblemError } from '../errors.ts';
import { enforceLimit, type Limiters } from '../limits/limiters.ts';
import { networkOf } from '../limits/rate-limits.ts';
import type { Invitations } from '../monitoring/recipients/invitations.ts';
import { renderConfirmation } from './confirm-recipient.page.ts';

interface PageDeps {
  invitations: Invitations;
  limiters: Limiters;
  installation: string;
  clientAddress(ctx: Context): string;
}

const prefix = '/confirm-recipient/';
const allowed = 'GET, POST';

/** Serves the page that the link in a mail opens. Programs that scan mails open links too, so only its button confirms the address. */
export function confirmRecipientPage({ invitations, limiters, installation, clientAddress }: PageDeps): Middleware {
  const perAddress = limiters.create('confirm-recipient', 60, 60);

  return async (ctx, next) => {
    if (!ctx.path.startsWith(prefix)) return next();
    ctx.state.route = `${prefix}{id}/{signature}`;
    ctx.set(headers);
    await enforceLimit(perAddress, networkOf(clientAddress(ctx)), 'Your address has requested too many confirmation pages.');
    if (ctx.method !== 'GET' && ctx.method !== 'POST') {
      ctx.set('Allow', allowed);
      throw new ProblemError('method_not_allowed', `This path does not support ${ctx.method}. It supports ${allowed}.`);
    }
    const [, id, signature = ''] = link.exec(ctx.path) ?? [];
    const opened = id === undefined ? undefined : await invitations.find(Number(id), signature);
    const isConfirmed = ctx.method === 'POST' && opened?.isUnconfirmed === true && (await invitations.confirm(opened));
    // If it could not be confirmed, the provider has changed in the meantime.
    const invitation =
      ctx.method === 'POST' && opened?.isUnconfirmed && !isConfirmed ? await invitations.find(opened.id, signature) : opened;
    ctx.status = invitation ? 200 : 404;
    ctx.type = 'html';
    ctx.body = renderConfirmation({ path: ctx.path, installation, invitation, isConfirmed }).markup;
  };
}

/** Ids with more digits do not exist. */
const link = /^\/confirm-recipient\/(\d{1,15})\/([\w-]{43})$/;

const headers = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // The path is a credential.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex',
  'Cross-Origin-Opener-Policy': 'same-origin',
};
