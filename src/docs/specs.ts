import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import type { Asset } from './asset-store.ts';

/** Scripts of every origin can read the OpenAPI documents, even if CORS_ORIGINS restricts the APIs: client tools need them. */
export function isSpecPath(path: string): boolean {
  return path.startsWith('/openapi/');
}

/** The OpenAPI documents of both APIs, with this service as their server. */
export function specAssets(publicUrl: string): [path: string, Asset][] {
  const documents = {
    websites: withServer(websites, '/api/v1', publicUrl),
    monitoring: withServer(monitoring, '/api', publicUrl),
  };
  return Object.entries(documents).flatMap(([name, document]) => [
    [`/openapi/${name}.json`, specAsset('application/json', async () => `${JSON.stringify(document, undefined, 2)}\n`)],
    [`/openapi/${name}.yaml`, specAsset('application/yaml', () => toYaml(document))],
  ]);
}

function withServer<Document extends { info: object }>(document: Document, basePath: string, publicUrl: string): Document {
  return {
    ...document,
    info: { ...document.info, contact: { name: 'Sitekeeper', url: `${publicUrl}/docs` } },
    servers: [{ url: publicUrl + basePath, description: 'This service' }],
  };
}

function specAsset(type: string, load: Asset['load']): Asset {
  return { type, cacheControl: 'public, max-age=300', load };
}

async function toYaml(document: object): Promise<string> {
  const { stringify } = await import('yaml');
  // YAML 1.1 parsers read an unquoted time as a date, among other things. Written as 1.1, such values are quoted, and parsers of
  // both versions read the same document.
  return stringify(document, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 120 });
}
