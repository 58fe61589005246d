import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

const { resolve } = createRequire(import.meta.url);
const file = join(dirname(resolve('@electric-sql/pglite')), 'pglite.wasm');

/**
 * Compiles PGlite so that V8 never optimizes its SQL parser. For that function alone V8's optimizing compiler needs 600 MB; for
 * the next largest it needs 40 MB. The parser takes a small part of the time of a statement, and all other functions are
 * optimized as usual.
 */
export async function compilePglite(): Promise<WebAssembly.Module> {
  const module = await WebAssembly.compile(await readFile(file));
  const { raw_parser: parse } = new WebAssembly.Instance(module, unusableImports(module)).exports;
  if (typeof parse !== 'function') throw new Error('PGlite exports no raw_parser');
  // V8 compiles a function when it is called for the first time, and decides then whether that code counts its calls in order to
  // be optimized. With this filter only function 0 would. The code belongs to the module, so that PGlite's instance uses it.
  setFlagsFromString('--wasm-tier-up-filter=0');
  try {
    parse();
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error; // It has no stack, so its first store is out of bounds.
  } finally {
    setFlagsFromString('--wasm-tier-up-filter=-1');
  }
  // When memory runs low, V8 would drop this code and compile the function again, without the filter.
  setFlagsFromString('--no-flush-liftoff-code');
  return module;
}

/** The imports of an instance that runs nothing. The sizes are upper bounds, and the memory is reserved but not used. */
function unusableImports(module: WebAssembly.Module): WebAssembly.Imports {
  const imports: WebAssembly.Imports = {};
  for (const { module: group, name, kind } of WebAssembly.Module.imports(module)) {
    imports[group] ??= {};
    imports[group][name] = unusableImport(kind, name);
  }
  return imports;
}

function unusableImport(kind: string, name: string): WebAssembly.ImportValue {
  if (kind === 'function') return () => {};
  if (kind === 'memory') return new WebAssembly.Memory({ initial: 4096, maximum: 4096 });
  if (kind === 'table') return new WebAssembly.Table({ initial: 20_000, element: 'anyfunc' });
  return name === '__memory_base' || name === '__table_base' ? 0 : new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
}
