import type { operations } from '../../generated/types/websites.ts';
import type { ValidationError } from '../errors.ts';
import type { Rules } from '../http/operations.ts';
import { InvalidDomain, normalizeDomain } from './domain.ts';
import { parseLineList } from './line-lists.ts';

/** Validation rules of websites that a schema cannot express, and the normal form of domains and lists. */
export const websiteRules = {
  createWebsite(body) {
    const domain = checkDomain(body.domain);
    const lists = checkLists(body);
    const errors = [...domain.errors, ...lists.errors, ...(body.privacy === 2 && !body.password ? [passwordRequired] : [])];
    return { errors, normalized: { ...domain.normalized, ...lists.normalized } };
  },
  updateWebsite: checkUpdate,
  putWebsite: checkUpdate,
} satisfies Rules<operations>;

export const passwordRequired: ValidationError = {
  in: 'body',
  pointer: '/password',
  code: 'password_needed',
  message: 'is required while privacy is 2',
};

interface Lists {
  exclude_params?: string;
  exclude_ips?: string;
}

/** If the request has no password, the website may already have one. Only the handler can check that. */
function checkUpdate(body: Lists & { privacy?: number; password?: string }) {
  const { errors, normalized } = checkLists(body);
  return { errors: [...errors, ...(body.privacy === 2 && body.password === '' ? [passwordRequired] : [])], normalized };
}

function checkLists({ exclude_params, exclude_ips }: Lists) {
  const params = parseLineList('exclude_params', exclude_params);
  const ips = parseLineList('exclude_ips', exclude_ips);
  const normalized: Lists = {
    ...(exclude_params !== undefined && { exclude_params: params.text }),
    ...(exclude_ips !== undefined && { exclude_ips: ips.text }),
  };
  return { errors: [...params.errors, ...ips.errors], normalized };
}

function checkDomain(given: string | undefined): { errors: ValidationError[]; normalized: { domain?: string } } {
  try {
    return { errors: [], normalized: given === undefined ? {} : { domain: normalizeDomain(given) } };
  } catch (error) {
    if (!(error instanceof InvalidDomain)) throw error;
    return { errors: [{ in: 'body', pointer: '/domain', code: 'invalid_domain', message: error.message }], normalized: {} };
  }
}
