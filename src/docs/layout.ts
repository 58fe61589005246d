import { Html, html } from './html.ts';

export interface Page {
  title: string;
  /** Where the page is served. All links are relative to it, so that they work on any host and behind a proxy that adds a path prefix. */
  path: string;
  body: Html;
  /** Style sheets and scripts that only this page loads. */
  head?: Html;
}

const sections = [
  ['/docs/getting-started', 'Getting started'],
  ['/docs/recipes', 'What can be monitored'],
  ['/docs/websites', 'Website registry'],
  ['/docs/monitoring', 'Monitoring'],
  ['/docs/problems', 'Problems'],
] as const;

export function renderPage({ title, path, body, head = new Html('') }: Page): Html {
  const root = getRelativeRoot(path);
  const link = ([target, name]: (typeof sections)[number]) =>
    html`<a href="${root}${target.slice(1)}"${new Html(path.startsWith(target) ? ' aria-current="page"' : '')}>${name}</a>`;
  return html`<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Sitekeeper</title>
<link rel="icon" type="image/svg+xml" href="${root}docs/assets/icon.svg">
${head}<link rel="stylesheet" href="${root}docs/assets/docs.css">
<script type="module" src="${root}docs/assets/docs.mjs"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="brand" href="${root}docs"><img src="${root}docs/assets/icon.svg" alt="" width="26" height="26">Sitekeeper</a>
<nav aria-label="Sections">${sections.map(link)}</nav>
<details class="account">
<summary>Sign in</summary>
<form data-sign-in>
<label>E-mail address <input name="email" type="email" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
<p class="hint">While you are signed in, “Try it out” works without an API key.</p>
<p class="error" role="alert" hidden></p>
</form>
<form data-sign-out hidden>
<p>Signed in as <strong data-email></strong></p>
<button>Sign out</button>
</form>
</details>
</header>
<main id="content">
${body}
</main>
</body>
</html>
`;
}

/** The relative path from a page to the root of the service: empty, or one or more '../'. */
export function getRelativeRoot(path: string): string {
  return '../'.repeat(path.split('/').length - 2);
}
