import { operationsOf } from './operations.js';

/** Every operation declares the statuses that follow from its parameters, body and security. */
export default function declaredStatuses(document) {
  const results = [];
  for (const { path, method, item, operation } of operationsOf(document.paths)) {
    const declared = Object.keys(operation.responses ?? {});
    for (const [status, reason] of expectedStatuses(document, item, operation)) {
      if (declared.includes(status)) continue;
      results.push({ message: `The operation does not declare ${status}: ${reason}.`, path: ['paths', path, method, 'responses'] });
    }
  }
  return results;
}

function* expectedStatuses(document, item, operation) {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  const hasParameterIn = (location) => parameters.some((parameter) => parameter.in === location);
  const hasHeader = (name) => parameters.some((parameter) => parameter.in === 'header' && parameter.name === name);

  // The sender of a token is often a job whose Accept header cannot be chosen, and its request must not be lost because of that.
  if (operation['x-authentication'] !== 'token') yield ['406', 'the Accept header may exclude the media type of the response'];
  yield ['429', 'every operation is rate limited'];
  yield ['500', 'any operation may fail unexpectedly'];
  yield ['503', 'the database may be unavailable'];
  if ((operation.security ?? document.security ?? []).length > 0) yield ['401', 'it requires a key or a session'];
  if (operation['x-required-scopes']?.length > 0) yield ['403', 'it requires a scope'];
  if (operation.requestBody) {
    yield ['400', 'the body may be malformed'];
    yield ['413', 'the body may be too large'];
    yield ['415', 'the body may have an unsupported media type'];
    yield ['422', 'the body may be invalid'];
  }
  if (hasParameterIn('query')) yield ['400', 'the query string may be malformed'];
  if (hasParameterIn('path')) yield ['404', 'the resource may not exist'];
  if (parameters.length > 0) yield ['422', 'a parameter may be invalid'];
  if (hasHeader('If-None-Match')) yield ['304', 'it accepts If-None-Match'];
  if (hasHeader('If-Match')) yield ['412', 'it accepts If-Match'];
  if (hasHeader('Idempotency-Key')) yield ['409', 'it accepts an Idempotency-Key'];
}
