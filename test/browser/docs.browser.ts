import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { allScopes } from '../../src/auth/scopes.ts';
import { operations as contractOperations } from '../support/contract-operations.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { launchBrowser, overflow, visit } from './browser.ts';

let service: TestService;
let browser: Browser;
let user: TestUser;
const password = 'correct horse';

beforeAll(async () => {
  browser = await launchBrowser();
  service = await startService();
  user = await service.createUser(password);
  await user.api.post('/api/v1/websites', { form: { domain: 'seen.example' } });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

const pages = ['/docs', '/docs/getting-started', '/docs/websites', '/docs/monitoring', '/docs/problems', '/docs/problems/rate_limited'];
const phone = { viewport: { width: 360, height: 740 } };
const manyOperationsMs = 180_000;
const operations = (page: Page) => page.locator('.opblock');
const operation = (page: Page, id: string) => page.locator(`.opblock[id$="-${id}"]`);

const modes = [
  { mode: 'in light mode on a desktop', colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  { mode: 'in dark mode on a phone', colorScheme: 'dark', ...phone },
] as const;

describe.each(pages)('%s', (path) => {
  test.each(modes)(
    'loads $mode with matching colors, without horizontal scrolling, errors or requests to other hosts',
    ({ colorScheme, viewport }) =>
      visit(
        browser,
        service.url + path,
        async (page) => {
          await page.locator('h1, h2.title').first().waitFor();
          expect(await overflow(page)).toBe(0);
          const isLight = colorScheme === 'light';
          expect((await brightness(page, 'body', 'backgroundColor')) > 128).toBe(isLight);
          expect((await brightness(page, 'h1, h2.title', 'color')) > 128).toBe(!isLight);
        },
        { colorScheme, viewport },
      ),
  );
});

describe.each(['websites', 'monitoring'])('the API reference of %s', (name) => {
  test(
    'shows every operation on a phone without errors and without horizontal scrolling',
    () =>
      visit(
        browser,
        `${service.url}/docs/${name}`,
        async (page) => {
          await operations(page).first().waitFor();
          const blocks = await operations(page).all();
          expect(blocks).toHaveLength(Object.values(contractOperations).filter(({ api }) => api === name).length);
          for (const block of blocks) {
            await openToTry(block);
            expect(await overflow(page), (await block.getAttribute('id')) ?? '').toBe(0);
            await block.locator('.opblock-summary-control').click();
          }
        },
        phone,
      ),
    manyOperationsMs,
  );

  test('switches to dark mode together with the system while it is open', () =>
    visit(browser, `${service.url}/docs/${name}`, async (page) => {
      await operations(page).first().waitFor();
      await page.emulateMedia({ colorScheme: 'dark' });
      await expect.poll(() => brightness(page, '.swagger-ui', 'backgroundColor'), { timeout: 10_000 }).toBeLessThan(128);
    }));
});

describe('"Try it out"', () => {
  test('lists websites with a key', async () => {
    const { key } = await service.database.asUser(user.id, (em) =>
      createKey(em, { userId: user.id, name: 'Browser', scopes: [...allScopes] }),
    );
    await visit(browser, `${service.url}/docs/websites`, async (page) => {
      await page.locator('.btn.authorize').first().click();
      await page.locator('.modal-ux input').fill(key);
      await page.locator('.modal-ux .btn.authorize').click();
      await page.locator('.modal-ux .btn-done').click();
      expect(await tryIt(page, 'listWebsites')).toMatchObject({ status: 200, body: { data: [{ domain: 'seen.example' }] } });
    });
  });

  test('lists websites for a signed-in user on every page until sign-out', () =>
    visit(
      browser,
      `${service.url}/docs`,
      async (page) => {
        await signIn(page, password);
        await account(page, 'Signed in').waitFor();
        await page.getByRole('link', { name: 'Website registry' }).first().click();
        await account(page, 'Signed in').waitFor();
        expect(await tryIt(page, 'listWebsites')).toMatchObject({ status: 200, body: { data: [{ domain: 'seen.example' }] } });

        await account(page, 'Signed in').click();
        expect(await page.locator('[data-email]').textContent()).toBe(user.email);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await account(page, 'Sign in').waitFor();
        await page.goto(`${service.url}/docs/websites`);
        expect(await tryIt(page, 'listWebsites')).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
      },
      { expected: /status of 401/ },
    ));

  test('creates a website with the prefilled form', () =>
    visit(browser, `${service.url}/docs/websites`, async (page) => {
      await signIn(page, password);
      await account(page, 'Signed in').waitFor();
      expect(await tryIt(page, 'createWebsite')).toMatchObject({ status: 201, body: { data: { domain: expect.any(String) } } });
    }));

  test('works with any host name of the service', () =>
    visit(browser, `${service.url.replace('127.0.0.1', 'localhost')}/docs/monitoring`, async (page) => {
      await signIn(page, password);
      await account(page, 'Signed in').waitFor();
      expect(await tryIt(page, 'listMonitors')).toMatchObject({ status: 200, body: { data: [] } });
    }));
});

test('shows a message for a wrong password', () =>
  visit(
    browser,
    `${service.url}/docs`,
    async (page) => {
      await signIn(page, 'wrong horse');
      await page.getByText('The e-mail address or the password is wrong.').waitFor();
      await account(page, 'Sign in').waitFor();
    },
    { expected: /status of 401/ },
  ));

test('shows and copies the samples in the selected language', () =>
  visit(
    browser,
    `${service.url}/docs/getting-started`,
    async (page) => {
      const shown = async () => {
        const samples = await page.locator('pre[data-language]:visible').all();
        return Promise.all(samples.map((sample) => sample.getAttribute('data-language')));
      };
      expect(await shown()).toEqual(['curl', 'curl', 'curl', 'curl']);
      await page.getByText('Python', { exact: true }).click();
      expect(await shown()).toEqual(['python', 'python', 'python', 'python']);
      await page.locator('.sample:visible .copy').first().click();
      await page.getByText('Copied').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toContain('urllib.request');
    },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  ));

async function signIn(page: Page, secret: string) {
  await account(page, 'Sign in').click();
  const form = page.locator('[data-sign-in]');
  await form.getByLabel('E-mail address').fill(user.email);
  await form.getByLabel('Password').fill(secret);
  await form.getByRole('button', { name: 'Sign in' }).click();
}

const account = (page: Page, label: 'Sign in' | 'Signed in') => page.locator('.account summary', { hasText: new RegExp(`^${label}$`) });

/** Opens an operation and clicks "Try it out" until it works: on a slow machine, Swagger UI loses a click while it loads the schemas. */
async function openToTry(block: Locator): Promise<void> {
  await block.locator('.opblock-summary-control').click();
  const execute = block.locator('.execute');
  const tryOut = async () => {
    if (!(await execute.isVisible())) await block.locator('.try-out__btn:not(.cancel)').click();
    return execute.isVisible();
  };
  await expect.poll(tryOut, { timeout: 30_000 }).toBe(true);
}

/** Opens an operation, sends the prefilled request and returns the response that the page shows. */
async function tryIt(page: Page, id: string): Promise<{ status: number; body: unknown }> {
  const block = operation(page, id);
  await openToTry(block);
  await block.locator('.execute').click();
  const response = block.locator('.live-responses-table .response');
  const status = await response.locator('.response-col_status').textContent();
  const body = await response.locator('.highlight-code pre').first().textContent();
  return { status: Number.parseInt(status ?? '', 10), body: JSON.parse(body ?? '') };
}

/** Returns the brightness of the first matching element, from 0 to 255. */
async function brightness(page: Page, selector: string, property: 'color' | 'backgroundColor'): Promise<number> {
  const color = await page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).${property}`);
  const [red = 0, green = 0, blue = 0, opacity = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
  if (opacity === 0) throw new Error(`${selector} has no ${property}`);
  return (red + green + blue) / 3;
}
