import type { components } from '../../../../generated/types/monitoring.ts';
import { InvalidRequest, type ValidationError } from '../../../errors.ts';
import type { CheckOptions, StoredOptions } from '../check.ts';
import { isReversed } from './expected-status.ts';
import { headerErrors, keepHeaders, maskHeaders, type StoredHeader, storeHeaders } from './request-headers.ts';

type Sent = components['schemas']['HttpOptionsUpdate'];

/** All options of an http check, with their defaults. */
export type HttpOptions = Omit<Required<components['schemas']['HttpOptions']>, 'headers'> & { headers: StoredHeader[] };

const defaults: HttpOptions = {
  method: 'GET',
  headers: [],
  body: null,
  expected_status: ['2xx'],
  body_contains: null,
  body_not_contains: null,
  json: null,
  follow_redirects: true,
  verify_tls: true,
  tls_warning_days: 14,
};

/** Adds the defaults to stored options. */
export function withDefaults(stored: StoredOptions): HttpOptions {
  return { ...defaults, ...stored };
}

export const httpOptions: CheckOptions = {
  errors: (sent: Sent) => [...headerErrors(sent.headers ?? []), ...statusErrors(sent.expected_status ?? []), ...searchErrors(sent)],

  merge({ headers: sentHeaders, ...sent }: Sent, change) {
    const { headers: storedHeaders, ...stored } = withDefaults(change.stored);
    const errors = searchErrors({ ...stored, ...sent });
    if (errors.length > 0) throw new InvalidRequest(errors);
    const merged = { ...stored, ...sent };
    const mayKeepSecrets = change.isSameOrigin && (merged.verify_tls || !stored.verify_tls);
    const headersChange = { ...change, mayKeepSecrets };
    const headers = sentHeaders ? storeHeaders(sentHeaders, storedHeaders, headersChange) : keepHeaders(storedHeaders, headersChange);
    return withoutDefaults({ ...merged, headers });
  },

  view(stored) {
    const { headers, ...options } = withDefaults(stored);
    const { method, ...others } = options;
    return { method, headers: maskHeaders(headers), ...others };
  },

  listView(stored) {
    const { headers, body, ...options } = withDefaults(stored);
    return options;
  },
};

/** Options that have their default are not stored, so that sending them changes nothing. */
function withoutDefaults(options: HttpOptions): StoredOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name as keyof HttpOptions])),
  );
}

function statusErrors(expected: string[]): ValidationError[] {
  return expected.flatMap((status, index) =>
    isReversed(status)
      ? [{ in: 'body', pointer: `/http/expected_status/${index}`, code: 'range', message: 'must begin with the lower status' }]
      : [],
  );
}

/** A response to HEAD has no body that could be searched. */
function searchErrors(options: Sent): ValidationError[] {
  if (options.method !== 'HEAD') return [];
  return (['body_contains', 'body_not_contains', 'json'] as const)
    .filter((name) => options[name] != null)
    .map((name) => ({ in: 'body', pointer: `/http/${name}`, code: 'no_body', message: 'cannot be used with the method HEAD' }));
}
