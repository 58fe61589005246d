import type { operations } from '../../generated/types/websites.ts';
import type { Fault } from '../errors.ts';
import type { Rules } from '../http/operations.ts';
import { InvalidDomain, normalDomain } from './domain.ts';
import { readLines } from './line-lists.ts';

/** What no schema can say about a website. */
export const websiteRules: Rules<operations> = {
  createWebsite: (body) => [
    ...domainFaults(body.domain),
    ...lineFaults(body),
    ...(body.privacy === 2 && !body.password ? [passwordNeeded] : []),
  ],
  updateWebsite: updateFaults,
  putWebsite: updateFaults,
};

export const passwordNeeded: Fault = {
  in: 'body',
  pointer: '/password',
  code: 'password_needed',
  message: 'is needed while privacy is 2',
};

/** A password that is not sent may be stored; only the handler knows. */
function updateFaults(body: { privacy?: number; password?: string; exclude_params?: string; exclude_ips?: string }): Fault[] {
  return [...lineFaults(body), ...(body.privacy === 2 && body.password === '' ? [passwordNeeded] : [])];
}

function lineFaults(body: { exclude_params?: string; exclude_ips?: string }): Fault[] {
  return [...readLines('exclude_params', body.exclude_params).faults, ...readLines('exclude_ips', body.exclude_ips).faults];
}

function domainFaults(given: string | undefined): Fault[] {
  try {
    if (given !== undefined) normalDomain(given);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidDomain)) throw error;
    return [{ in: 'body', pointer: '/domain', code: 'invalid_domain', message: error.message }];
  }
}
