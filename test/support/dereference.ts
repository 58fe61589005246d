/**
 * Returns the document with every $ref replaced by its target. Equal references share one object. The contract has no circular
 * references.
 */
export function dereference(document: object): object {
  const resolved = new Map<string, unknown>();
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(resolve);
    if ('$ref' in value && typeof value.$ref === 'string') {
      if (!resolved.has(value.$ref)) resolved.set(value.$ref, resolve(targetOf(value.$ref)));
      return resolved.get(value.$ref);
    }
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, resolve(child)]));
  };
  const targetOf = (reference: string) =>
    reference
      .slice('#/'.length)
      .split('/')
      .reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document);
  return resolve(document) as object;
}
