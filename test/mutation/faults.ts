import type { Fault } from './fault.ts';
import { alertFaults } from './faults/alerts.ts';
import { authFaults } from './faults/auth.ts';
import { channelFaults } from './faults/channels.ts';
import { contractFaults } from './faults/contract.ts';
import { databaseFaults } from './faults/database.ts';
import { engineFaults } from './faults/engine.ts';
import { httpFaults } from './faults/http.ts';
import { monitorFaults } from './faults/monitors.ts';
import { networkFaults } from './faults/network.ts';
import { operationFaults } from './faults/operations.ts';
import { recipientFaults } from './faults/recipients.ts';
import { resourceFaults } from './faults/resources.ts';
import { webhookFaults } from './faults/webhooks.ts';

/** Every fault that is planted. */
export const faults: Fault[] = [
  ...engineFaults,
  ...alertFaults,
  ...authFaults,
  ...contractFaults,
  ...databaseFaults,
  ...httpFaults,
  ...monitorFaults,
  ...networkFaults,
  ...channelFaults,
  ...operationFaults,
  ...resourceFaults,
  ...recipientFaults,
  ...webhookFaults,
];
