import type { operations } from '../../generated/types/websites.ts';
import type { ValidationError } from '../errors.ts';
import type { Rules } from '../http/operations.ts';
import { InvalidDomain, normalizeDomain } from './domain.ts';
import { parseLineList } from './line-lists.ts';

/** Validation rules of websites that a schema cannot express. */
export const websiteRules: Rules<operations> = {
  createWebsite: (body) => [
    ...domainErrors(body.domain),
    ...lineErrors(body),
    ...(body.privacy === 2 && !body.password ? [passwordRequired] : []),
  ],
  updateWebsite: updateErrors,
  putWebsite: updateErrors,
};

export const passwordRequired: ValidationError = {
  in: 'body',
  pointer: '/password',
  code: 'password_needed',
  message: 'is required while privacy is 2',
};

/** If the request has no password, the website may already have one. Only the handler can check that. */
function updateErrors(body: { privacy?: number; password?: string; exclude_params?: string; exclude_ips?: string }): ValidationError[] {
  return [...lineErrors(body), ...(body.privacy === 2 && body.password === '' ? [passwordRequired] : [])];
}

function lineErrors(body: { exclude_params?: string; exclude_ips?: string }): ValidationError[] {
  return [...parseLineList('exclude_params', body.exclude_params).errors, ...parseLineList('exclude_ips', body.exclude_ips).errors];
}

function domainErrors(given: string | undefined): ValidationError[] {
  try {
    if (given !== undefined) normalizeDomain(given);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidDomain)) throw error;
    return [{ in: 'body', pointer: '/domain', code: 'invalid_domain', message: error.message }];
  }
}
