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
  errors: (sent: Sent) => [
    ...headerErrors(sent.headers ?? []),
    ...bodyErrors(sent.body ?? ''),
    ...statusErrors(sent.expected_status ?? []),
    ...searchErrors(sent),
  ],

  keepStatus: ['tls_warning_days'],

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

  unlisted: ['headers', 'body'],
};

/** Options that have their default are not stored, so that sending them changes nothing. */
function withoutDefaults(options: HttpOptions): StoredOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name as keyof HttpOptions])),
  );
}

/** The schema counts characters, but what a body costs depends on its bytes. */
const maxBodyBytes = 16_384;

function bodyErrors(body: string): ValidationError[] {
  if (Buffer.byteLength(body) <= maxBodyBytes) return [];
  return [{ in: 'body', pointer: '/http/body', code: 'max_bytes', message: `must have at most ${maxBodyBytes} bytes in UTF-8` }];
}

function statusErrors(expected: string[]): ValidationError[] {
  return expected.flatMap((status, index) =>
    isReversed(status)
      ? [{ in: 'body', pointer: `/http/expected_status/${index}`, code: 'range', message: 'must begin with the lower status' }]
      : [],
  );
}

/** Finds conditions that no response can meet. A response to HEAD has no body that could be searched. */
function searchErrors(options: Sent): ValidationError[] {
  const { body_contains: wanted, body_not_contains: unwanted } = options;
  if (wanted && unwanted && wanted.includes(unwanted)) return [contradiction];
  if (options.method !== 'HEAD') return [];
  return (['body_contains', 'body_not_contains', 'json'] as const)
    .filter((name) => options[name] != null)
    .map((name) => ({ in: 'body', pointer: `/http/${name}`, code: 'no_body', message: 'cannot be used with the method HEAD' }));
}

const contradiction: ValidationError = {
  in: 'body',
  pointer: '/http/body_not_contains',
  code: 'contradiction',
  message: 'must not be a part of body_contains, because no response could meet both',
};
