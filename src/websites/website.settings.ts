import type { components } from '../../generated/types/websites.ts';
import { hashPassword } from '../auth/passwords.ts';
import type { Website } from './website.entity.ts';

/** The columns that users can change. */
export type Settings = Pick<Website, 'privacy' | 'email' | 'excludeBots' | 'excludeParams' | 'excludeIps' | 'favorite'> & {
  passwordHash: string | null;
};

/** The settings of a new website for which the form has no value. */
export const defaultSettings: Settings = {
  privacy: 0,
  passwordHash: null,
  email: 0,
  excludeBots: 1,
  excludeParams: '',
  excludeIps: '',
  favorite: false,
};

/** Returns the columns that a form changes. Absent fields keep their value. */
export async function settingsFrom(form: components['schemas']['WebsiteUpdate'], userId: number): Promise<Partial<Settings>> {
  const { privacy, password, email, exclude_bots, exclude_params, exclude_ips, favorite, ...others } = form;
  others satisfies Record<string, never>; // A field of the contract that is not named above does not compile.
  return {
    ...(privacy !== undefined && { privacy }),
    ...(password !== undefined && { passwordHash: password === '' ? null : await hashPassword(password, { userId }) }),
    ...(email !== undefined && { email }),
    ...(exclude_bots !== undefined && { excludeBots: exclude_bots }),
    ...(exclude_params !== undefined && { excludeParams: exclude_params }),
    ...(exclude_ips !== undefined && { excludeIps: exclude_ips }),
    ...(favorite !== undefined && { favorite }),
  };
}
