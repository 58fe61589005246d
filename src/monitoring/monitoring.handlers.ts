import type { operations } from '../../generated/types/monitoring.ts';
import type { UserDatabase } from '../db/user-database.ts';
import type { Handlers, Rules } from '../http/operations.ts';
import { deliveryHandlers } from './alerts/deliveries.handlers.ts';
import { type HeartbeatDeps, heartbeatHandlers } from './heartbeats/heartbeats.handlers.ts';
import { incidentHandlers } from './incidents/incidents.handlers.ts';
import { bulkHandlers, bulkRules } from './monitors/bulk.handlers.ts';
import { type MonitorDeps, monitorHandlers, monitorRules } from './monitors/monitors.handlers.ts';
import { notificationHandlers } from './notifications/notifications.handlers.ts';
import { type ProviderDeps, providerHandlers, providerRules } from './providers/providers.handlers.ts';
import { type RotationDeps, rotateSecretHandlers } from './providers/rotate-secret.handlers.ts';
import { type TestDeps, testProviderHandlers } from './providers/test-provider.handlers.ts';
import { type StatisticsDeps, statisticsHandlers } from './statistics/statistics.handlers.ts';

/** The operations under /api that are not about accounts. */
type MonitoringOperations = Omit<
  operations,
  'listKeys' | 'createKey' | 'deleteKey' | 'createSession' | 'showSession' | 'deleteSession' | 'changePassword' | 'createUser'
>;

type MonitoringDeps = MonitorDeps & ProviderDeps & TestDeps & RotationDeps & HeartbeatDeps & StatisticsDeps;

export function monitoringHandlers(deps: MonitoringDeps): Handlers<MonitoringOperations, UserDatabase> {
  return {
    ...monitorHandlers(deps),
    ...bulkHandlers,
    ...heartbeatHandlers(deps),
    ...incidentHandlers,
    ...statisticsHandlers(deps),
    ...providerHandlers(deps),
    ...testProviderHandlers(deps),
    ...rotateSecretHandlers(deps),
    ...deliveryHandlers,
    ...notificationHandlers,
  };
}

interface RulesDeps extends Pick<MonitorDeps, 'netAllowed'>, Pick<ProviderDeps, 'channels'> {
  now(): number;
}

export function monitoringRules(deps: RulesDeps): Rules<MonitoringOperations> {
  return { ...monitorRules(deps), ...bulkRules(deps), ...providerRules(deps) };
}
