import escapeHtml from 'escape-html';
import type { Content, Fact, Link, Tone } from '../../messages/message-content.ts';
import { type Text, utcText } from '../../messages/text.ts';
import { truncate } from '../redact.ts';

interface MailText {
  subject: string;
  text: string;
  html: string;
}

interface Circumstances {
  recipient: string;
  /** The name of the installation. */
  installation: string;
  /** The number of the incident, if the message is about one. */
  incidentId: number | undefined;
}

interface Mail extends Content, Circumstances {
  /** Joins a text with exact times in UTC. */
  show(text: Text): string;
}

/** Composes subject, text and HTML of a mail. The text has the same lines as the HTML. */
export function mailText(content: Content, circumstances: Circumstances): MailText {
  const show = (text: Text) => utcText(text, { now: content.at, withSeconds: true });
  const mail = { ...content, ...circumstances, show };
  return { subject: safeSubject(content.subject), text: textPart(mail), html: htmlPart(mail) };
}

const maxSubjectLength = 200;

/** A header ends at a line break, and mail programs decode what looks like an encoded word. */
function safeSubject(subject: string): string {
  const safe = subject
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll('=?', '= ?')
    .trim();
  return truncate(safe, maxSubjectLength, '…');
}

function textPart(mail: Mail): string {
  const { sign, title, line, list, facts, links, show } = mail;
  const paragraphs = [
    [`${sign} ${title}`, show(line)],
    list,
    facts.map(({ label, value }) => `${label}: ${show(value)}`),
    links.map(({ label, url }) => `${label}: ${url}`),
    footerLines(mail),
  ];
  return paragraphs
    .map((lines) => lines.filter((text) => text !== '').join('\n'))
    .filter((paragraph) => paragraph !== '')
    .join('\n\n');
}

function footerLines({ recipient, installation, incidentId, about }: Mail): string[] {
  const origin = [
    ...(installation === 'Sitekeeper' ? [] : [installation]),
    'Sitekeeper',
    ...(incidentId === undefined ? [] : [`incident ${incidentId}`]),
  ];
  return [...(about === null ? [] : [reasonOf(about, recipient)]), origin.join(' · ')];
}

function reasonOf(about: NonNullable<Content['about']>, recipient: string): string {
  switch (about) {
    case 'monitor':
      return `You get this because “${recipient}” is assigned to this monitor.`;
    case 'monitors':
      return `You get this because “${recipient}” is assigned to these monitors.`;
    case 'providers':
      return `You get this because it is about the providers of this account, and “${recipient}” is one of them.`;
  }
}

interface Look {
  /** The sign in the box. */
  mark: string;
  radius: number;
  /** The colours of the box, of the state, and of the background. */
  fill: string;
  ink: string;
  soft: string;
  /** The same in dark mode. */
  dark: { fill: string; ink: string; soft: string };
}

const looks: Record<Tone, Look> = {
  down: {
    mark: '✕',
    radius: 4,
    fill: '#d1372a',
    ink: '#b42318',
    soft: '#fdf1ef',
    dark: { fill: '#f0604f', ink: '#ff9d92', soft: '#2d1c1b' },
  },
  up: {
    mark: '✓',
    radius: 12,
    fill: '#0f766e',
    ink: '#0f766e',
    soft: '#e2f0ef',
    dark: { fill: '#4fd1c5', ink: '#4fd1c5', soft: '#17302e' },
  },
  warning: {
    mark: '!',
    radius: 4,
    fill: '#b26a0b',
    ink: '#8a4b08',
    soft: '#fdf5e4',
    dark: { fill: '#e0a33e', ink: '#f5c16c', soft: '#2b2316' },
  },
  neutral: {
    mark: 'i',
    radius: 12,
    fill: '#56646b',
    ink: '#56646b',
    soft: '#eef2f2',
    dark: { fill: '#a0acb0', ink: '#a0acb0', soft: '#22292b' },
  },
};

const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** Tables and inline colours, because many mail programs know nothing else. Those that know media queries also get dark colours. */
function htmlPart(mail: Mail): string {
  const { tone, name, state, line, list, facts, links, subject, show } = mail;
  const look = looks[tone];
  const shown = (text: Text) => escapeHtml(show(text));
  const heading = name ?? state;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${styles(look)}</style>
</head>
<body class="canvas" style="margin:0;padding:0;background:#f5f7f7;${font}">
<div style="display:none;max-height:0;overflow:hidden">${preheader(mail).map(escapeHtml).join(' · ')}</div>
<table role="presentation" class="canvas" width="100%" cellpadding="0" cellspacing="0" style="background:#f5f7f7"><tr><td align="center" class="outer" style="padding:24px 12px">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border:1px solid #dde4e5;border-radius:10px;border-collapse:separate;overflow:hidden">
<tr><td class="soft inset" style="background:${look.soft};padding:24px 28px;border-radius:10px 10px 0 0">
<table role="presentation" cellpadding="0" cellspacing="0"><tr>
<td valign="top" style="padding:2px 14px 0 0"><div class="mark" aria-hidden="true" style="width:24px;height:24px;line-height:24px;text-align:center;font-size:15px;font-weight:700;color:#ffffff;background:${look.fill};border-radius:${look.radius}px">${look.mark}</div></td>
<td valign="top">
${name === null ? '' : `<div class="state" style="font-size:14px;line-height:20px;font-weight:600;color:${look.ink}">${escapeHtml(state)}</div>\n`}<h1 class="ink" style="margin:0;font-size:21px;line-height:28px;font-weight:700;color:#1b2327;word-break:break-word"><bdi>${escapeHtml(heading)}</bdi></h1>
<div class="ink" style="margin-top:4px;font-size:15px;line-height:22px;color:#1b2327;word-break:break-word">${[shown(line), ...list.map(escapeHtml)].filter((text) => text !== '').join('<br>\n')}</div>
</td></tr></table>
</td></tr>
${facts.length + links.length === 0 ? '' : `<tr><td class="inset" style="padding:8px 28px 24px">\n${factRows(facts, show)}${buttons(links)}</td></tr>\n`}</table>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px"><tr><td class="quiet inset" style="padding:12px 28px;font-size:12px;line-height:18px;color:#56646b;word-break:break-word">
${footerLines(mail).map(escapeHtml).join('<br>\n')}
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

/** The length of an address as it is shown. The link has all of it. */
const maxAddressLength = 200;

function factRows(facts: Fact[], show: (text: Text) => string): string {
  const rows = facts.map(({ label, value, url }, index) => {
    const border = index < facts.length - 1 ? ';border-bottom:1px solid #dde4e5' : '';
    const shown = escapeHtml(url === undefined ? show(value) : truncate(show(value), maxAddressLength, '…'));
    const text = url === undefined ? shown : `<a class="link" href="${escapeHtml(url)}" style="color:#0f766e">${shown}</a>`;
    return `<tr><td class="label quiet" valign="top" width="116" style="padding:10px 12px 10px 0${border};font-size:14px;line-height:20px;color:#56646b">${escapeHtml(label)}</td>
<td class="value ink" valign="top" style="padding:10px 0${border};font-size:14px;line-height:20px;color:#1b2327;word-break:break-word">${text}</td></tr>`;
  });
  if (rows.length === 0) return '';
  return `<table class="facts" width="100%" cellpadding="0" cellspacing="0">\n${rows.join('\n')}\n</table>\n`;
}

function buttons(links: Link[]): string {
  return links
    .map(
      ({ label, url, isShown }) =>
        `<a class="button" href="${escapeHtml(url)}" style="display:inline-block;margin:20px 8px 0 0;padding:11px 18px;border:1px solid #7d8b90;border-radius:6px;font-size:15px;line-height:20px;font-weight:600;color:#1b2327;text-align:center;text-decoration:none">${escapeHtml(label)}</a>\n${isShown ? shownUrl(url) : ''}`,
    )
    .join('');
}

function shownUrl(url: string): string {
  const text = escapeHtml(url);
  return `<div style="margin-top:16px;font-size:13px;line-height:18px;word-break:break-all"><a class="link" href="${text}" style="color:#0f766e">${text}</a></div>\n`;
}

/** What mail programs show next to the subject: the first fact and the host. */
function preheader({ facts, line, show }: Mail): string[] {
  const phrases = facts.flatMap(({ phrase }) => (phrase === undefined ? [] : [show(phrase)]));
  return phrases.length > 0 ? phrases : [show(line)];
}

function styles({ dark }: Look): string {
  return `
@media (max-width:480px){
.outer{padding:12px 8px!important}.inset{padding-left:16px!important;padding-right:16px!important}
.facts td{display:block!important;width:auto!important}.label{border-bottom:0!important;padding-bottom:0!important}.value{padding-top:0!important}
.button{display:block!important;margin-right:0!important}
}
@media (prefers-color-scheme:dark){
.canvas{background:#131718!important}.card{background:#1a1f21!important;border-color:#2e373a!important}
.soft{background:${dark.soft}!important}.mark{background:${dark.fill}!important;color:#131718!important}.state{color:${dark.ink}!important}
.ink{color:#e4e8e8!important}.quiet{color:#a0acb0!important}.link{color:#4fd1c5!important}
.label,.value{border-color:#2e373a!important}.button{color:#e4e8e8!important;border-color:#6f7f85!important}
}`;
}
