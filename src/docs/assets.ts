import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import swaggerUiPackage from 'swagger-ui-dist/package.json' with { type: 'json' };
import type { Content } from './content.ts';

const require = createRequire(import.meta.url);
const types = {
  css: 'text/css; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
type FileName = `${string}.${keyof typeof types}`;

/** Relative to /docs/. */
export const swaggerUi = `assets/swagger-ui-${swaggerUiPackage.version}`;

/** All files that pages load; nothing else is ever read from the disk. */
export function assetContents(): [path: string, Content][] {
  return [
    ...(['docs.css', 'docs.mjs', 'reference.css', 'reference.mjs', 'icon.svg'] as const).map((name) => own(name)),
    ...(['swagger-ui.css', 'swagger-ui-bundle.js'] as const).map((name) => ofSwaggerUi(name)),
  ];
}

function own(name: FileName): [string, Content] {
  return [`/docs/assets/${name}`, file(name, join(import.meta.dirname, 'browser', name), 'no-cache')];
}

/** Named by its version, so it never changes. */
function ofSwaggerUi(name: FileName): [string, Content] {
  const content = file(name, require.resolve(`swagger-ui-dist/${name}`), 'public, max-age=31536000, immutable');
  return [`/docs/${swaggerUi}/${name}`, content];
}

function file(name: FileName, path: string, cacheControl: string): Content {
  return { type: types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types], cacheControl, make: () => readFile(path) };
}
