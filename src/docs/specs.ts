import { setImmediate } from 'node:timers/promises';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import type { Asset } from './asset-store.ts';

/** Scripts of any origin can read the OpenAPI documents, even if CORS_ORIGINS restricts the APIs: client tools need them. */
export function isSpecPath(path: string): boolean {
  return path.startsWith('/openapi/');
}

/** Creates the OpenAPI documents of both APIs, with this service as their server. */
export function createSpecAssets(publicUrl: string): [path: string, Asset][] {
  const documents = {
    websites: setServer(websites, '/api/v1', publicUrl),
    monitoring: setServer(monitoring, '/api', publicUrl),
  };
  return Object.entries(documents).flatMap(([name, document]) => [
    [`/openapi/${name}.json`, createSpecAsset('application/json', async () => `${JSON.stringify(document, undefined, 2)}\n`)],
    [`/openapi/${name}.yaml`, createSpecAsset('application/yaml', () => toYaml(document))],
  ]);
}

function setServer<Document extends { info: object }>(document: Document, basePath: string, publicUrl: string): Document {
  return {
    ...document,
    info: { ...document.info, contact: { name: 'Sitekeeper', url: `${publicUrl}/docs` } },
    servers: [{ url: publicUrl + basePath, description: 'This service' }],
  };
}

function createSpecAsset(type: string, load: Asset['load']): Asset {
  return { type, cacheControl: 'public, max-age=300', load };
}

/** Requests get their turn between the pieces: serializing all of it at once takes about 100 ms. */
async function toYaml(document: object): Promise<string> {
  const { stringify } = await import('yaml');
  // YAML 1.1 parsers read an unquoted time as a date, among other things. Serializing as YAML 1.1 quotes such values, so that
  // parsers of both versions read the same document.
  const serialize = (value: object) => stringify(value, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 120 });
  let text = '';
  for (const [name, part] of Object.entries(document)) {
    if (typeof part !== 'object' || Array.isArray(part)) {
      text += serialize({ [name]: part });
      continue;
    }
    text += `${name}:\n`;
    for (const [key, value] of Object.entries(part)) {
      const [, ...lines] = serialize({ [name]: { [key]: value } }).split('\n');
      text += lines.join('\n');
      await setImmediate();
    }
  }
  return text;
}
