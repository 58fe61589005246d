/** The document with every $ref replaced by what it points to, which is one object however often. The contract has no circles. */
export function dereference(document: object): object {
  const resolved = new Map<string, unknown>();
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(resolve);
    if ('$ref' in value && typeof value.$ref === 'string') {
      if (!resolved.has(value.$ref)) resolved.set(value.$ref, resolve(pointedTo(value.$ref)));
      return resolved.get(value.$ref);
    }
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, resolve(child)]));
  };
  const pointedTo = (reference: string) =>
    reference
      .slice('#/'.length)
      .split('/')
      .reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document);
  return resolve(document) as object;
}
