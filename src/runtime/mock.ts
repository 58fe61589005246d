import type { RequestListener } from 'node:http';
import { validationRules } from '../app.ts';
import { readConfig } from '../config/config.ts';
import { listen } from '../http/server.ts';
import { findContractFiles, readBundles } from '../mock/contract-files.ts';
import { createMock } from '../mock/mock.ts';
import { createChannels } from '../monitoring/channels/registry.ts';
import { parseRanges } from '../net/addresses.ts';
import { createLog } from '../telemetry/log.ts';
import { onShutdown } from './shutdown.ts';

/** Runs the mock of both APIs until it is stopped. It reloads the contract whenever its files change. */
export async function runMock(port: number): Promise<void> {
  const server = await listen({ host: '127.0.0.1', port, remedy: 'use --port to choose another port' });
  const files = await findContractFiles();
  const load = async (read: () => Promise<object[]>) => server.setHandler(await createHandler(await read(), server.url));
  try {
    await load(files.read).catch((error: unknown) => {
      console.error(`openapi/ is not valid, so the mock serves generated/ instead: ${firstLine(error)}`);
      return load(readBundles);
    });
  } catch (error) {
    await server.close();
    throw error;
  }
  let reloading = Promise.resolve();
  files.watch(() => {
    reloading = reloading
      .then(() => load(files.read))
      .then(() => console.log('The contract has changed and was reloaded.'))
      .catch((error: unknown) =>
        console.error(`The changed contract is not valid, so the last valid one stays in use: ${firstLine(error)}`),
      );
  });
  onShutdown(() => server.close());
  announce(server.url);
}

async function createHandler(documents: object[], publicUrl: string): Promise<RequestListener> {
  const { netAllow, delivery } = readConfig({});
  const net = { allow: parseRanges(netAllow) };
  const rules = validationRules({ netAllowed: net.allow, channels: createChannels(delivery, net), now: Date.now });
  const app = await createMock({
    documents,
    publicUrl,
    rules: [rules.websites, rules.monitoring],
    log: createLog({ logLevel: 'error' }, 'mock'),
  });
  return app.callback();
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

function announce(url: string) {
  console.log(`The mock of both APIs is listening on ${url}. Try it:

    curl -H "Authorization: Bearer any" ${url}/api/v1/websites
    curl -H "Authorization: Bearer any" ${url}/api/monitors/5
    curl -H "Authorization: Bearer any" -H "Prefer: code=404" ${url}/api/monitors/5
`);
}
