// Whether Prism would find a violation, and whether the tests that run through it really do.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPrismProxy, viaPrism } from '../../support/prism-proxy.ts';
import { startService, type TestService } from '../../support/service.ts';
import { startWebServer } from '../../support/web-server.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test.each([
  ['/api/monitors', 'data'],
  ['/api/v1/websites', 'links'],
])('Prism reports a response of %s that violates the contract', async (path, missing) => {
  const server = await startWebServer({ script: (_, response) => response.setHeader('Content-Type', 'application/json').end('{}') });
  const proxy = await startPrismProxy(server.url);
  expect((await fetch(proxy.url + path)).status).toBe(200);
  await expect(proxy.close()).rejects.toThrow(new RegExp(`GET ${path} returned 200: .*'${missing}'`));
  await server.close();
});

test.runIf(process.env.TEST_THROUGH_PROXY)('the requests of tests pass through Prism', async () => {
  expect((await service.anonymous.get('/healthz')).headers.get('Via')).toBe(viaPrism);
});
