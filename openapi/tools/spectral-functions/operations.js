const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Yields every operation with its path and method. */
export function* operationsOf(paths) {
  for (const [path, item] of Object.entries(paths ?? {})) {
    for (const method of methods) {
      if (item[method]) yield { path, method, item, operation: item[method] };
    }
  }
}
