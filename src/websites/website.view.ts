import type { components } from '../../generated/types/websites.ts';
import type { Website } from './website.entity.ts';
import type { ListedWebsite } from './website.list.ts';

type Schemas = components['schemas'];

export function websiteView(website: Website): Schemas['Website'] {
  return viewOf(website);
}

/** Names the settings that are left out of a list because they are too long. */
export function listedWebsiteView(website: ListedWebsite): Schemas['ListedWebsite'] {
  const view = viewOf(website);
  return { ...view, omitted_fields: (['exclude_params', 'exclude_ips'] as const).filter((field) => view[field] === null) };
}

function viewOf<Text extends string | null>(
  website: Omit<Website, 'excludeParams' | 'excludeIps'> & { excludeParams: Text; excludeIps: Text },
) {
  return {
    id: website.id,
    domain: website.domain,
    privacy: website.privacy,
    has_password: website.hasPassword,
    email: website.email,
    exclude_bots: website.excludeBots,
    exclude_params: website.excludeParams,
    exclude_ips: website.excludeIps,
    favorite: website.favorite,
    created_at: website.createdAt.toISOString(),
    updated_at: website.updatedAt.toISOString(),
  };
}
