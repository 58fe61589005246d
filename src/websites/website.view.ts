import type { components } from '../../generated/types/websites.ts';
import type { Website } from './website.entity.ts';

export function websiteView(website: Website): components['schemas']['Website'] {
  return {
    id: website.id,
    domain: website.domain,
    privacy: website.privacy,
    has_password: Boolean(website.passwordHash),
    email: website.email,
    exclude_bots: website.excludeBots,
    exclude_params: website.excludeParams,
    exclude_ips: website.excludeIps,
    favorite: website.favorite,
    created_at: website.createdAt.toISOString(),
    updated_at: website.updatedAt.toISOString(),
  };
}
