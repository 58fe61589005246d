/** The document with every $ref replaced by what it points to. The contract has no circles. */
export function dereference(document: object): object {
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(resolve);
    if ('$ref' in value && typeof value.$ref === 'string') {
      const steps = value.$ref.slice('#/'.length).split('/');
      return resolve(steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document));
    }
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, resolve(child)]));
  };
  return resolve(document) as object;
}
