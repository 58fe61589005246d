import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const screenshotFolder = process.env.SCREENSHOTS ?? 'test-results';

export async function launchBrowser(): Promise<Browser> {
  if (!existsSync(executablePath)) {
    throw new Error(
      `There is no Chromium at ${executablePath}. Install it (Debian: apt-get install chromium), or set CHROMIUM to its path.`,
    );
  }
  // Chromium's sandbox does not work as root, and containers often run as root.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

export interface VisitOptions extends BrowserContextOptions {
  /** Console errors that the test expects, such as one for a 401 that it causes. */
  expected?: RegExp;
}

/**
 * Opens a URL in a new browser profile. The visit fails on any console error, any violation of the Content-Security-Policy and
 * any request to another host, which is also blocked. A failed visit saves a screenshot.
 */
export async function visit(
  browser: Browser,
  url: string,
  work: (page: Page) => Promise<unknown>,
  { expected, ...options }: VisitOptions = {},
) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    const isExpected = expected?.test(message.text()) ?? false;
    if (message.type() === 'error' && !isExpected) errors.push(`console: ${message.text()}`);
  });
  await page.exposeFunction('reportViolation', (what: string) => errors.push(`policy: ${what}`));
  await page.addInitScript(`addEventListener('securitypolicyviolation', (violation) =>
    reportViolation(violation.violatedDirective + ' ' + violation.blockedURI + ' ' + violation.sample))`);
  await context.route('**', (route) => {
    const requested = new URL(route.request().url());
    if (requested.origin === new URL(url).origin) return route.continue();
    errors.push(`other host: ${requested.href}`);
    return route.abort();
  });
  try {
    await page.goto(url, { waitUntil: 'networkidle' });
    await work(page);
    expect(errors).toEqual([]);
  } catch (error) {
    await mkdir(screenshotFolder, { recursive: true });
    const name = (expect.getState().currentTestName ?? 'visit').replace(/\W+/g, '-');
    await page.screenshot({ path: join(screenshotFolder, `${name}.png`), fullPage: true });
    throw error;
  } finally {
    await context.close();
  }
}

/** Returns by how many pixels the page itself, not a box in it, is wider than the window. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
}
