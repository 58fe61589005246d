import Koa from 'koa';
import type { Document } from 'openapi-backend';
import { type Credentials, credentialThatCounts } from '../access/authenticator.ts';
import type { Caller } from '../access/caller.ts';
import { memoryLimiters } from '../access/limiters.ts';
import { RateLimits } from '../access/rate-limits.ts';
import { allScopes } from '../access/scopes.ts';
import { readConfig } from '../config.ts';
import { NotFound } from '../errors.ts';
import { admit, type Described, type Gate } from '../http/admission.ts';
import { allowOrigins } from '../http/cors.ts';
import { answerProblems, nameRequests } from '../http/middleware.ts';
import { listen } from '../http/server.ts';
import { SessionCookie } from '../http/session-cookie.ts';
import { createLog } from '../log.ts';
import { monitoringRules } from '../monitoring/monitoring.handlers.ts';
import { parseRanges } from '../net/addresses.ts';
import { onceToldToStop } from '../stop.ts';
import { websiteRules } from '../websites/website.rules.ts';
import { prismAnswers } from './answers.ts';
import { findContractFiles, readBundles } from './contract-files.ts';
import { happeningNow } from './examples.ts';

/** Both APIs as their contract describes them, answered from its examples: no database, no account, any key passes. */
export async function mock(port: number): Promise<void> {
  const server = await listen({ host: '127.0.0.1', port });
  const files = await findContractFiles();
  const load = async (read: () => Promise<object[]>) => server.answerWith((await createMock(await read(), server.url)).callback());
  try {
    await load(files.read).catch((error: unknown) => {
      console.error(`openapi/ cannot be used, so generated/ is. ${oneLine(error)}`);
      return load(readBundles);
    });
  } catch (error) {
    await server.close();
    throw error;
  }
  let turn = Promise.resolve();
  files.watch(() => {
    turn = turn
      .then(() => load(files.read))
      .then(() => console.log('The contract has changed and is read anew.'))
      .catch((error: unknown) => console.error(`The contract cannot be used, so the last good one stays. ${oneLine(error)}`));
  });
  onceToldToStop(() => server.close());
  announce(server.url);
}

/** The same door as the service has, with Prism behind it. */
async function createMock(documents: object[], publicUrl: string): Promise<Koa> {
  const config = readConfig({});
  const gate: Gate = {
    authenticator: { identify: anybody },
    rateLimits: new RateLimits(rateLimitPerMinute, memoryLimiters()),
    sessionCookie: new SessionCookie(publicUrl),
    publicUrl,
    addressOf: (ctx) => ctx.ip,
  };
  const rules = [websiteRules, monitoringRules({ netAllowed: parseRanges(config.netAllow), slackHosts: config.delivery.slackHosts })];
  const apis = happeningNow(documents, Date.now()).map((document, index) => describe(document as Document, rules[index] ?? {}));
  const app = new Koa();
  app.use(nameRequests);
  app.use(allowOrigins(['*']));
  app.use(answerProblems(publicUrl, createLog({ logLevel: 'error' })));
  for (const api of apis) app.use(await admit(api, gate, await prismAnswers(api.document, publicUrl)));
  app.use(() => {
    throw new NotFound();
  });
  return app;
}

/** So many that no test of a frontend meets the limit. */
const rateLimitPerMinute = 1_000_000;

function describe(document: Document, rules: object): Described {
  return { root: new URL(document.servers?.[0]?.url ?? '').pathname, document, rules };
}

/** Whoever shows a key or a cookie, whatever stands in it. */
async function anybody(credentials: Credentials, takes: { keys: boolean }): Promise<Caller> {
  const { key } = credentialThatCounts(credentials, takes);
  const held = key === undefined ? { session: { id: 1, createdAtMs: 0, lastUsedAtMs: 0 } } : { key: { id: 1, expiresAtMs: null } };
  return { userId: 1, scopes: new Set(allScopes), ...held };
}

function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

function announce(url: string) {
  console.log(`The mock of both APIs answers on ${url}. Try it:

    curl -H "Authorization: Bearer any" ${url}/api/v1/websites
    curl -H "Authorization: Bearer any" ${url}/api/monitors/5
    curl -H "Authorization: Bearer any" -H "Prefer: code=404" ${url}/api/monitors/5
`);
}
