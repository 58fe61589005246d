import { existsSync, type FSWatcher, readdirSync, watch } from 'node:fs';
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

/** Each folder by itself: Node's own recursive watching loses sight of files that editors replace. */
function watchFolder(folder: string, onChange: () => void) {
  let watchers = watchFoldersIn(folder, changed);
  let pause: NodeJS.Timeout | undefined;

  function changed() {
    clearTimeout(pause);
    // An editor saves in several steps, and git changes many files.
    pause = setTimeout(lookAgain, 100);
  }

  /** There may be new folders; and where one is just being replaced, a moment later will do. */
  function lookAgain() {
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
