import { InvalidRequest } from '../errors.ts';

export interface Preferences {
  code?: number;
  example?: string;
  dynamic: boolean;
  seed?: string;
}

/**
 * Parses the Prefer header: `code=404`, `example=none`, `dynamic=true` and `seed=…`, separated by commas. A preference that
 * cannot be met is rejected; other preferences are ignored. `exampleNames` lists the examples of each status.
 */
export function readPrefer(header: string, exampleNames: Map<number, string[]>, defaultCode: number): Preferences {
  const given = new Map<string, string>();
  for (const [, name = '', quoted, bare = ''] of header.matchAll(
    /(?:^|[,;])\s*(code|example|dynamic|seed)\s*=\s*(?:"([^"]*)"|([^\s,;"]*))/gi,
  )) {
    given.set(name.toLowerCase(), quoted ?? bare);
  }
  const [code, example, dynamic = 'false', seed] = ['code', 'example', 'dynamic', 'seed'].map((name) => given.get(name));
  const names = exampleNames.get(Number(code ?? defaultCode));
  if (!names) throw unknownPreference(`code must be one of ${[...exampleNames.keys()].join(', ')}`);
  if (example !== undefined && !names.includes(example)) {
    const available = names.length > 0 ? `has the examples ${names.join(', ')}` : 'has no examples';
    throw unknownPreference(`asks for example=${example}, but the response ${code ?? defaultCode} ${available}`);
  }
  if (dynamic !== 'true' && dynamic !== 'false') throw unknownPreference('dynamic must be true or false');
  return {
    ...(code !== undefined && { code: Number(code) }),
    ...(example !== undefined && { example }),
    dynamic: dynamic === 'true',
    ...(seed !== undefined && { seed }),
  };
}

function unknownPreference(message: string): InvalidRequest {
  return new InvalidRequest([{ in: 'header', name: 'Prefer', code: 'unknown_preference', message }]);
}
