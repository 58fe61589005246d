#!/usr/bin/env node
// Plain JavaScript that every Node can parse, so that an outdated Node gets a clear message instead of a syntax error.
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Sitekeeper needs Node 22.18 or newer, but this is ${process.version}. "npm ci" installs a suitable Node: start with ` +
      '"npm start". If install scripts are disabled, run "npm rebuild node".',
  );
  process.exit(1);
}

// Caching compiled code makes the next start faster.
const { compileCacheDirectory } = await import('../config/compile-cache.mjs');
const directory = compileCacheDirectory();
if (directory) {
  const { enableCompileCache } = await import('node:module');
  enableCompileCache(directory);
}

await import('./main.ts');
