import type { operations } from '../../generated/types/monitoring.ts';
import { keyHandlers, keyRules } from '../access/keys.handlers.ts';
import type { Limiters } from '../access/limiters.ts';
import type { sessionHandlers } from '../access/session.handlers.ts';
import type { Vault } from '../access/vault.ts';
import type { Handlers, Rules } from '../http/operations.ts';
import type { Ranges } from '../net/addresses.ts';
import type { Channels } from './channels/channels.ts';
import { incidentHandlers } from './incidents/incidents.handlers.ts';
import { monitorHandlers, monitorRules } from './monitors/monitors.handlers.ts';
import { notificationHandlers } from './notifications/notifications.handlers.ts';
import { providerHandlers, providerRules } from './providers/providers.handlers.ts';

export interface MonitoringParts {
  sessions: ReturnType<typeof sessionHandlers>;
  maxMonitors: number;
  maxProviders: number;
  netAllowed: Ranges;
  slackHosts: string[];
  vault: Vault;
  channels: Channels;
  limiters: Limiters;
}

export function monitoringHandlers(parts: MonitoringParts): Handlers<operations> {
  return {
    ...keyHandlers,
    ...parts.sessions,
    ...monitorHandlers(parts),
    ...incidentHandlers,
    ...providerHandlers(parts),
    ...notificationHandlers,
  };
}

export function monitoringRules(parts: Pick<MonitoringParts, 'netAllowed' | 'slackHosts'>): Rules<operations> {
  return { ...keyRules, ...monitorRules(parts), ...providerRules(parts) };
}
