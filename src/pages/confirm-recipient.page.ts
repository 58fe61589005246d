import { type Html, html } from '../docs/html.ts';
import { getRelativeRoot } from '../docs/layout.ts';
import { plainText } from '../monitoring/messages/text.ts';
import type { Invitation } from '../monitoring/recipients/invitations.ts';

interface Confirmation {
  path: string;
  installation: string;
  /** Undefined if the link is not valid. */
  invitation: Invitation | undefined;
  /** Whether this request has confirmed the address. */
  isConfirmed: boolean;
}

/** Renders the page of a link. */
export function renderConfirmation({ path, installation, invitation, isConfirmed }: Confirmation): Html {
  const [title, text] = describe(invitation, isConfirmed);
  const root = getRelativeRoot(path);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${installation}</title>
<link rel="icon" type="image/svg+xml" href="${root}docs/assets/icon.svg">
<link rel="stylesheet" href="${root}docs/assets/docs.css">
</head>
<body>
<header>
<span class="brand"><img src="${root}docs/assets/icon.svg" alt="" width="26" height="26">${installation}</span>
</header>
<main id="content">
<h1>${title}</h1>
${text}
</main>
</body>
</html>
`;
}

function describe(invitation: Invitation | undefined, isConfirmed: boolean): [title: string, text: Html] {
  if (!invitation) return ['This link is not valid', invalid];
  const [account, address] = [shown(invitation.account), shown(invitation.address)];
  if (isConfirmed) return ['The address is confirmed', html`<p>${account} can now send alerts to ${address}. You can close this page.</p>`];
  if (!invitation.isUnconfirmed)
    return ['The address is already confirmed', html`<p>${account} can send alerts to ${address}. There is nothing left to do.</p>`];
  return [
    'Do you want these alerts?',
    html`<p>${account} wants to send alerts about websites to ${address}.</p>
<form method="post"><button class="button">Confirm the address</button></form>
<p>If you do not want them, close this page. Nothing more will be sent.</p>`,
  ];
}

const invalid = html`<p>The link is incomplete, or it is for an address that does not get alerts any more.</p>
<p>If you copied it, copy all of it. Otherwise ask whoever wants to send you alerts for another mail.</p>`;

function shown(address: string): Html {
  return html`<bdi class="address">${plainText(address)}</bdi>`;
}
