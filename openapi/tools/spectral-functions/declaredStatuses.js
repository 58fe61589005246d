import { operationsOf } from './operations.js';

/** Each operation declares the answers that follow from what it takes. */
export default function declaredStatuses(document) {
  const results = [];
  for (const { path, method, item, operation } of operationsOf(document.paths)) {
    const declared = Object.keys(operation.responses ?? {});
    for (const [status, because] of expected(document, item, operation)) {
      if (declared.includes(status)) continue;
      results.push({ message: `The operation does not declare ${status}: ${because}.`, path: ['paths', path, method, 'responses'] });
    }
  }
  return results;
}

function* expected(document, item, operation) {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  const takes = (place) => parameters.some((parameter) => parameter.in === place);
  const header = (name) => parameters.some((parameter) => parameter.in === 'header' && parameter.name === name);

  yield ['406', 'any Accept may rule out what it answers'];
  yield ['429', 'everything is limited'];
  yield ['500', 'anything may break'];
  yield ['503', 'the database may be away'];
  if ((operation.security ?? document.security ?? []).length > 0) yield ['401', 'it needs a key or session'];
  if (operation['x-required-scopes']?.length > 0) yield ['403', 'it needs a scope'];
  if (operation.requestBody) {
    yield ['400', 'the body may be unreadable'];
    yield ['413', 'the body may be too large'];
    yield ['415', 'the body may be of another media type'];
    yield ['422', 'the body may break the contract'];
  }
  if (takes('query')) yield ['400', 'the query may be unreadable'];
  if (takes('path')) yield ['404', 'there may be no such item'];
  if (parameters.length > 0) yield ['422', 'a parameter may break the contract'];
  if (header('If-None-Match')) yield ['304', 'it takes If-None-Match'];
  if (header('If-Match')) yield ['412', 'it takes If-Match'];
  if (header('Idempotency-Key')) yield ['409', 'it takes an Idempotency-Key'];
}
