#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that one which is too old gets a clear line instead of a syntax error.
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Sitekeeper needs Node 22.18 or newer, but this is ${process.version}. "npm ci" brings a fitting Node along: ` +
      'start with "npm start", and if install scripts are switched off, allow the one of the package "node" (npm rebuild node).',
  );
  process.exit(1);
}

// What was compiled once is kept, so that the next start is quicker.
const { enableCompileCache } = await import('node:module');
enableCompileCache();

await import('./main.ts');
