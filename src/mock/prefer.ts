import { Invalid } from '../errors.ts';

/** The names of an operation's examples by status. */
export type Choices = Map<number, string[]>;

export interface Wishes {
  code?: number;
  example?: string;
  dynamic: boolean;
  seed?: string;
}

/**
 * What the header Prefer asks of the mock: `code=404`, `example=none`, `dynamic=true` and `seed=…`, several of them with
 * commas between. A wish that cannot be met is refused; preferences of other kinds are none of our business.
 */
export function readPrefer(header: string, choices: Choices, usualCode: number): Wishes {
  const wishes = new Map<string, string>();
  for (const [, name = '', quoted, bare = ''] of header.matchAll(
    /(?:^|[,;])\s*(code|example|dynamic|seed)\s*=\s*(?:"([^"]*)"|([^\s,;"]*))/gi,
  )) {
    wishes.set(name.toLowerCase(), quoted ?? bare);
  }
  const [code, example, dynamic = 'false', seed] = ['code', 'example', 'dynamic', 'seed'].map((name) => wishes.get(name));
  const examples = choices.get(Number(code ?? usualCode));
  if (!examples) throw cannot(`asks for code=${code}, and this operation has ${[...choices.keys()].join(', ')}`);
  if (example !== undefined && !examples.includes(example)) {
    throw cannot(`asks for example=${example}, and the answer ${code ?? usualCode} has ${examples.join(', ') || 'none'}`);
  }
  if (dynamic !== 'true' && dynamic !== 'false') throw cannot(`asks for dynamic=${dynamic}, and it is true or false`);
  return {
    ...(code !== undefined && { code: Number(code) }),
    ...(example !== undefined && { example }),
    dynamic: dynamic === 'true',
    ...(seed !== undefined && { seed }),
  };
}

function cannot(message: string): Invalid {
  return new Invalid([{ in: 'header', name: 'Prefer', code: 'unknown_preference', message }]);
}
