import type { operations } from '../../generated/types/monitoring.ts';
import { keyHandlers, keyRules } from '../access/keys.handlers.ts';
import type { sessionHandlers } from '../access/session.handlers.ts';
import { notYet } from '../errors.ts';
import type { Handlers, Rules } from '../http/operations.ts';
import { monitorHandlers } from './monitors/monitors.handlers.ts';

export const monitoringRules: Rules<operations> = { ...keyRules };

export function monitoringHandlers(sessions: ReturnType<typeof sessionHandlers>): Handlers<operations> {
  return {
    ...keyHandlers,
    ...sessions,
    ...monitorHandlers,

    listIncidents: notYet,

    listProviders: notYet,
    createProvider: notYet,
    showProvider: notYet,
    updateProvider: notYet,
    deleteProvider: notYet,
    testProvider: notYet,

    listNotifications: notYet,
    addNotification: notYet,
    removeNotification: notYet,
  };
}
