import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const pictures = process.env.SCREENSHOTS ?? 'test-results';

export async function launchBrowser(): Promise<Browser> {
  if (!existsSync(executablePath)) {
    throw new Error(`There is no Chromium at ${executablePath}. Install it (Debian: apt-get install chromium), or name yours in CHROMIUM.`);
  }
  // Chromium's sandbox refuses to run as root, which is what containers run as.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

export interface Visit extends BrowserContextOptions {
  /** Console errors that belong to the story, such as a refusal that is asked for. */
  expected?: RegExp;
}

/**
 * Opens an address in a fresh profile. The visit fails on any error in the console, breach of the Content-Security-Policy or
 * request to another host, which is never let through; a failed one leaves a picture.
 */
export async function visit(browser: Browser, url: string, work: (page: Page) => Promise<unknown>, { expected, ...options }: Visit = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
  page.on('console', (message) => {
    const isExpected = expected?.test(message.text()) ?? false;
    if (message.type() === 'error' && !isExpected) complaints.push(`console: ${message.text()}`);
  });
  await page.exposeFunction('reportBreach', (what: string) => complaints.push(`policy: ${what}`));
  await page.addInitScript(`addEventListener('securitypolicyviolation', (breach) =>
    reportBreach(breach.violatedDirective + ' ' + breach.blockedURI + ' ' + breach.sample))`);
  await context.route('**', (route) => {
    const asked = new URL(route.request().url());
    if (asked.origin === new URL(url).origin) return route.continue();
    complaints.push(`foreign: ${asked.href}`);
    return route.abort();
  });
  try {
    await page.goto(url, { waitUntil: 'networkidle' });
    await work(page);
    expect(complaints).toEqual([]);
  } catch (error) {
    await mkdir(pictures, { recursive: true });
    const name = (expect.getState().currentTestName ?? 'visit').replace(/\W+/g, '-');
    await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
    throw error;
  } finally {
    await context.close();
  }
}

/** Whether the page as a whole, not a box in it, must be moved sideways to be read. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
}
