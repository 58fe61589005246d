import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import swaggerUiPackage from 'swagger-ui-dist/package.json' with { type: 'json' };
import type { Asset } from './asset-store.ts';

const require = createRequire(import.meta.url);
const types = {
  css: 'text/css; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
type FileName = `${string}.${keyof typeof types}`;

/** The URL path of Swagger UI, relative to /docs/. */
export const swaggerUiPath = `assets/swagger-ui-${swaggerUiPackage.version}`;

/** Creates an asset for each file that pages load. No other file is ever read from disk. */
export function createStaticAssets(): [path: string, Asset][] {
  return [
    ...(['docs.css', 'docs.mjs', 'reference.css', 'reference.mjs', 'icon.svg'] as const).map((name) => createOwnAsset(name)),
    ...(['swagger-ui.css', 'swagger-ui-bundle.js'] as const).map((name) => createSwaggerUiAsset(name)),
  ];
}

function createOwnAsset(name: FileName): [string, Asset] {
  return [`/docs/assets/${name}`, createFileAsset(name, join(import.meta.dirname, 'browser', name), 'no-cache')];
}

/** The path contains the version of Swagger UI, so its content never changes and can be cached for a year. */
function createSwaggerUiAsset(name: FileName): [string, Asset] {
  const asset = createFileAsset(name, require.resolve(`swagger-ui-dist/${name}`), 'public, max-age=31536000, immutable');
  return [`/docs/${swaggerUiPath}/${name}`, asset];
}

function createFileAsset(name: FileName, file: string, cacheControl: string): Asset {
  return { type: types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types], cacheControl, load: () => readFile(file) };
}
