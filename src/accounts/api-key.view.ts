import type { components } from '../../generated/types/monitoring.ts';
import type { ApiKey } from './api-key.entity.ts';

export function apiKeyView(key: ApiKey): components['schemas']['Key'] {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    prefix: key.prefix,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    expires_at: key.expiresAt?.toISOString() ?? null,
  };
}
