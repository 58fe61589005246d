import { existsSync, type FSWatcher, readdirSync, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '../..');
const sources = join(root, 'openapi');
const bundles = join(root, 'generated');

/** The source of both API documents. */
export interface ContractFiles {
  /** Reads the current documents: websites, monitoring. */
  read(): Promise<object[]>;
  /** Calls back when files have changed. The contract of a package does not change, so it never does. */
  watch(onChange: () => void): void;
}

/** In a checkout, bundles openapi/ after every change, or reads generated/ if the bundler is not installed. In a package, reads generated/. */
export async function findContractFiles(): Promise<ContractFiles> {
  if (!existsSync(sources)) return { read: readBundles, watch: () => {} };
  try {
    // The package contains neither this tool nor the library it uses, so they are loaded only if they exist.
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

/** Watches each folder separately, because Node's recursive watcher loses files that editors replace. */
function watchFolder(folder: string, onChange: () => void) {
  let watchers = watchFoldersIn(folder, changed);
  let debounce: NodeJS.Timeout | undefined;

  function changed() {
    clearTimeout(debounce);
    // An editor saves in several steps, and git changes many files at once.
    debounce = setTimeout(rescan, 100);
  }

  /** Watches new folders as well. If a folder is being replaced, it retries shortly. */
  function rescan() {
    for (const watcher of watchers) watcher.close();
    watchers = [];
    try {
      watchers = watchFoldersIn(folder, changed);
    } catch {
      return changed();
    }
    onChange();
  }
}

function watchFoldersIn(folder: string, onChange: () => void): FSWatcher[] {
  const inner = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  const folders = [folder, ...inner.map(({ parentPath, name }) => join(parentPath, name))];
  return folders.map((each) => watch(each, onChange).on('error', onChange));
}
