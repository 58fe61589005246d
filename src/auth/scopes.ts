import type { components } from '../../generated/types/monitoring.ts';

export type Scope = components['schemas']['Key']['scopes'][number];

/** All scopes. The compiler rejects a scope of the contract that is missing here. */
const scopes: Record<Scope, true> = {
  'monitors:read': true,
  'monitors:write': true,
  'providers:read': true,
  'providers:write': true,
  'websites:read': true,
  'websites:write': true,
};

export const allScopes = Object.keys(scopes) as Scope[];
