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

/** The folder of Swagger UI in URLs, relative to /docs/. */
export const swaggerUiFolder = `assets/swagger-ui-${swaggerUiPackage.version}`;

/** All files that pages load, by path. No other file is ever read from disk. */
export function staticAssets(): [path: string, Asset][] {
  return [
    ...(['docs.css', 'docs.mjs', 'reference.css', 'reference.mjs', 'icon.svg'] as const).map((name) => ownFile(name)),
    ...(['swagger-ui.css', 'swagger-ui-bundle.js'] as const).map((name) => swaggerUiFile(name)),
  ];
}

function ownFile(name: FileName): [string, Asset] {
  return [`/docs/assets/${name}`, fileAsset(name, join(import.meta.dirname, 'browser', name), 'no-cache')];
}

/** The path contains the version of Swagger UI, so its content never changes and can be cached for a year. */
function swaggerUiFile(name: FileName): [string, Asset] {
  const asset = fileAsset(name, require.resolve(`swagger-ui-dist/${name}`), 'public, max-age=31536000, immutable');
  return [`/docs/${swaggerUiFolder}/${name}`, asset];
}

function fileAsset(name: FileName, file: string, cacheControl: string): Asset {
  return { type: types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types], cacheControl, load: () => readFile(file) };
}
