import type { components } from '../../generated/types/websites.ts';
import { hashPassword } from '../auth/passwords.ts';
import { parseLineList } from './line-lists.ts';
import type { Website } from './website.entity.ts';

export type Settings = Pick<Website, 'privacy' | 'passwordHash' | 'email' | 'excludeBots' | 'excludeParams' | 'excludeIps' | 'favorite'>;

/** Returns the columns that a form changes. Absent fields keep their value. */
export async function settingsFrom(form: components['schemas']['WebsiteUpdate'], userId: number): Promise<Partial<Settings>> {
  const { privacy, password, email, exclude_bots, exclude_params, exclude_ips, favorite } = form;
  return {
    ...(privacy !== undefined && { privacy }),
    ...(password !== undefined && { passwordHash: password === '' ? null : await hashPassword(password, { userId }) }),
    ...(email !== undefined && { email }),
    ...(exclude_bots !== undefined && { excludeBots: exclude_bots }),
    ...(exclude_params !== undefined && { excludeParams: parseLineList('exclude_params', exclude_params).text }),
    ...(exclude_ips !== undefined && { excludeIps: parseLineList('exclude_ips', exclude_ips).text }),
    ...(favorite !== undefined && { favorite }),
  };
}
