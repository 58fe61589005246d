import type { operations } from '../../generated/types/monitoring.ts';
import { notYet } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { monitorHandlers } from './monitors/monitors.handlers.ts';

export const monitoringHandlers: Handlers<operations> = {
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

  listKeys: notYet,
  createKey: notYet,
  deleteKey: notYet,

  createSession: notYet,
  showSession: notYet,
  deleteSession: notYet,
  changePassword: notYet,
  createUser: notYet,
};
