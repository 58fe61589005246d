import { operationsOf } from './operations.js';

/** What is created and can be shown says where: Location on the 201 of /things if there is GET /things/{id}. */
export default function createdLocation(paths) {
  const shown = Object.keys(paths).filter((path) => paths[path].get && /\/\{[^/]+\}$/.test(path));
  const collections = new Set(shown.map((path) => path.slice(0, path.lastIndexOf('/'))));
  return [...operationsOf(paths)]
    .filter(({ path, method, operation }) => method === 'post' && collections.has(path) && operation.responses?.['201'])
    .filter(({ operation }) => !operation.responses['201'].headers?.Location)
    .map(({ path }) => ({
      message: 'The 201 has no Location, though the new item can be shown.',
      path: ['paths', path, 'post', 'responses', '201'],
    }));
}
