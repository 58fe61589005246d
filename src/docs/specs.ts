import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import type { Content } from './content.ts';

/** Whoever writes a client may read the specs from any page, whatever CORS_ORIGINS says of the APIs. */
export function isSpecPath(path: string): boolean {
  return path.startsWith('/openapi/');
}

/** The contract of both APIs, as it holds for this very service. */
export function specContents(publicUrl: string): [path: string, Content][] {
  const documents = { websites: publish(websites, '/api/v1', publicUrl), monitoring: publish(monitoring, '/api', publicUrl) };
  return Object.entries(documents).flatMap(([name, document]) => [
    [`/openapi/${name}.json`, spec('application/json', async () => `${JSON.stringify(document, undefined, 2)}\n`)],
    [`/openapi/${name}.yaml`, spec('application/yaml', () => asYaml(document))],
  ]);
}

function publish<Document extends { info: object }>(document: Document, root: string, publicUrl: string): Document {
  return {
    ...document,
    info: { ...document.info, contact: { name: 'Sitekeeper', url: `${publicUrl}/docs` } },
    servers: [{ url: publicUrl + root, description: 'This service' }],
  };
}

function spec(type: string, make: Content['make']): Content {
  return { type, cacheControl: 'public, max-age=300', make };
}

async function asYaml(document: object): Promise<string> {
  const { stringify } = await import('yaml');
  // 1.1 quotes more than 1.2 asks for, so that readers of either see the same: a bare time is a date to some.
  return stringify(document, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 120 });
}
