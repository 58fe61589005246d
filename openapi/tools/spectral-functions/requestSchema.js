const checks = {
  closed: (schema) =>
    (schema.type === 'object' || schema.properties) && schema.additionalProperties !== false
      ? 'An object in a request body has additionalProperties: false.'
      : undefined,
  noDefault: (schema) => ('default' in schema ? 'A default in an update would overwrite what is stored.' : undefined),
  strings: (schema) =>
    schema.type === 'string' && !(schema.format || schema.pattern || schema.enum)
      ? 'A string in a request body has a format, a pattern or an enum.'
      : undefined,
};

/** One check for the schema of a request body and all schemas in it. */
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
