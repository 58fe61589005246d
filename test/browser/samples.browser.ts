import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { allScopes } from '../../src/auth/scopes.ts';
import { readConfig } from '../../src/config/config.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { startService, type TestService } from '../support/service.ts';
import { launchBrowser, visit } from './browser.ts';

// Copies the samples of the getting-started page and runs them, as a reader would. It requires curl and Python 3.

let service: TestService;
let mailServer: MailServer;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  browser = await launchBrowser();
  mailServer = await startMailServer();
  const mail = { smtpUrl: `smtp://${mailServer.host}`, mailFrom: { name: 'Sitekeeper', address: 'alerts@example.com' } };
  service = await startService({ delivery: { ...readConfig({}).delivery, ...mail } });
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-samples-'));
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await mailServer?.close();
  if (folder) await rm(folder, { recursive: true });
});

const run = promisify(execFile);
type Runner = (samples: string[], env: NodeJS.ProcessEnv) => Promise<string[]>;

/** Runs each sample as a separate file. */
const inFiles =
  (command: string, ending: string): Runner =>
  async (samples, env) => {
    const printed: string[] = [];
    for (const [index, sample] of samples.entries()) {
      const file = join(folder, `sample-${index}.${ending}`);
      await writeFile(file, sample);
      printed.push((await run(command, [file], { env })).stdout);
    }
    return printed;
  };

/** Runs all samples in one shell, because later ones use variables that earlier ones set. */
const inShell: Runner = async (samples, env) => {
  const { stdout } = await run('bash', ['-c', samples.join('\necho; echo ----\n')], { env });
  return stdout.split('----');
};

const languages: [string, Runner][] = [
  ['curl', inShell],
  ['typescript', inFiles(process.execPath, 'mts')],
  ['python', inFiles('python3', 'py')],
];

test.each(languages)('the %s samples create a key, a website, a monitor and an alert when they are pasted', async (language, runner) => {
  const user = await service.createUser();
  const { key } = await service.database.asUser(user.id, (em) => createKey(em, { userId: user.id, name: 'First', scopes: [...allScopes] }));
  let samples: string[] = [];
  await visit(browser, `${service.url}/docs/getting-started`, async (page) => {
    samples = await page.locator(`pre[data-language="${language}"]`).allTextContents();
  });
  const mailsBefore = mailServer.mails.length;
  const printed = await runner(samples, { ...process.env, KEY: key });

  expect(printed).toHaveLength(4);
  expect(printed[0]).toMatch(/stkp_[0-9A-Za-z]{36}/);
  expect(printed[1]).toContain('example.com');
  expect(printed[2]).toContain('pending');
  expect(printed[3]).toContain('accepted by the mail server');
  expect((await user.api.get('/api/v1/websites')).body.data).toMatchObject([{ domain: 'example.com', email: 1 }]);
  const { body: monitors } = await user.api.get('/api/monitors');
  expect(monitors.data).toMatchObject([{ friendly_name: 'Example', url: 'https://example.com' }]);
  const { body: assigned } = await user.api.get(`/api/monitors/${monitors.data[0].id}/notifications`);
  expect(assigned.data).toMatchObject([{ enabled: true }]);
  expect(mailServer.mails.slice(mailsBefore).map(({ recipients }) => recipients)).toEqual([['you@example.com']]);
});
