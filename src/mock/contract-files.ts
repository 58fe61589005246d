import { existsSync, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '../..');
const sources = join(root, 'openapi');
const bundles = join(root, 'generated');

/** Where the documents of both APIs come from. */
export interface ContractFiles {
  /** The documents as they stand now: websites, monitoring. */
  read(): Promise<object[]>;
  /** Calls back, after a pause for breath, when files were changed; where there is nothing to edit, never. */
  watch(onChange: () => void): void;
}

/** In a checkout the sources, bundled at every change; without the tools for that the bundles; both without watching in a package. */
export async function findContractFiles(): Promise<ContractFiles> {
  if (!existsSync(sources)) return { read: readBundles, watch: () => {} };
  try {
    // Not in the package, and neither is the library it uses: so nothing here may depend on them.
    const { bundleContract } = (await import(pathToFileURL(join(sources, 'tools/bundle.ts')).href)) as {
      bundleContract(): Promise<object[]>;
    };
    return { read: bundleContract, watch: (onChange) => watchFolder(sources, onChange) };
  } catch {
    return { read: readBundles, watch: (onChange) => watchFolder(bundles, onChange) };
  }
}

export function readBundles(): Promise<object[]> {
  return Promise.all(['websites', 'monitoring'].map(async (api) => JSON.parse(await readFile(join(bundles, `${api}.json`), 'utf8'))));
}

function watchFolder(folder: string, onChange: () => void) {
  let pause: NodeJS.Timeout | undefined;
  // An editor saves in several steps.
  watch(folder, { recursive: true }, () => {
    clearTimeout(pause);
    pause = setTimeout(onChange, 100);
  });
}
