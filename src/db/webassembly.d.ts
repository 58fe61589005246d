// The part of WebAssembly that pglite-module.ts uses. TypeScript declares it only together with the types of browsers.
declare namespace WebAssembly {
  type ImportValue = (() => void) | Global | Memory | Table | number;
  type Imports = Record<string, Record<string, ImportValue>>;
  class Module {
    private constructor();
    static imports(module: Module): { module: string; name: string; kind: string }[];
  }
  class Instance {
    constructor(module: Module, imports: Imports);
    readonly exports: Record<string, (() => void) | Global | Memory | Table>;
  }
  class Global {
    constructor(descriptor: { value: 'i32'; mutable: boolean }, value: number);
  }
  class Memory {
    constructor(descriptor: { initial: number; maximum: number });
  }
  class Table {
    constructor(descriptor: { initial: number; element: 'anyfunc' });
  }
  class RuntimeError extends Error {}
  function compile(bytes: Uint8Array): Promise<Module>;
}
