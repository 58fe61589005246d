import { operationsOf } from './operations.js';

/** A created resource that can be read has a Location: it is required on the 201 of /things if GET /things/{id} exists. */
export default function createdLocation(paths) {
  const readable = Object.keys(paths).filter((path) => paths[path].get && /\/\{[^/]+\}$/.test(path));
  const collections = new Set(readable.map((path) => path.slice(0, path.lastIndexOf('/'))));
  return [...operationsOf(paths)]
    .filter(({ path, method, operation }) => method === 'post' && collections.has(path) && operation.responses?.['201'])
    .filter(({ operation }) => !operation.responses['201'].headers?.Location)
    .map(({ path }) => ({
      message: 'The 201 has no Location header, although the new resource can be read.',
      path: ['paths', path, 'post', 'responses', '201'],
    }));
}
