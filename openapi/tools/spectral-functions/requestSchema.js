const checks = {
  closed: (schema) =>
    (schema.type === 'object' || schema.properties) && schema.additionalProperties !== false
      ? 'An object in a request body needs additionalProperties: false.'
      : undefined,
  noDefault: (schema) => ('default' in schema ? 'A default in an update would overwrite the stored value.' : undefined),
  // Without the message, the service would have to show callers a regular expression.
  patternMessage: (schema) => {
    const isUnion = (schema.oneOf || schema.anyOf) && !schema.discriminator;
    if (!schema.pattern && !isUnion) return undefined;
    return /^must \S/.test(schema['x-pattern-message'] ?? '')
      ? undefined
      : `A ${schema.pattern ? 'pattern' : 'oneOf or anyOf without a discriminator'} in a request needs an x-pattern-message that starts with "must".`;
  },
  strings: (schema) =>
    schema.type === 'string' && !(schema.format || schema.pattern || schema.enum)
      ? 'A string in a request body needs a format, a pattern or an enum.'
      : undefined,
};

/** Applies one check to the schema of a request body or parameter, and to all schemas inside it. */
export default function requestSchema(schema, { check }, context) {
  const results = [];
  for (const { part, path } of schemasIn(schema, [...context.path])) {
    const message = checks[check](part);
    if (message) results.push({ message, path });
  }
  return results;
}

function* schemasIn(part, path) {
  if (!part || typeof part !== 'object') return;
  yield { part, path };
  for (const key of ['items', 'not', 'additionalProperties']) yield* schemasIn(part[key], [...path, key]);
  for (const key of ['properties', 'oneOf', 'anyOf', 'allOf']) {
    for (const [name, inner] of Object.entries(part[key] ?? {})) yield* schemasIn(inner, [...path, key, name]);
  }
}
