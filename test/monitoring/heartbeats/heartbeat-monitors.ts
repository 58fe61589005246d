import { type CheckCounts, countLoggedChecks } from '../../support/check-history.ts';
import type { TestService, TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';

export interface HeartbeatMonitor {
  id: number;
  /** The path of the monitor. */
  path: string;
  /** The path that receives its heartbeats. */
  receiver: string;
  token: string;
}

/** Creates a heartbeat monitor, which waits for 2 minutes unless the fields say otherwise. */
export async function createHeartbeat(user: TestUser, fields: object = {}): Promise<HeartbeatMonitor> {
  const { id, path, data } = await createMonitor(user, { type: 'heartbeat', url: undefined, interval: 60, ...fields });
  const receiver = new URL(String(data.heartbeat_url)).pathname;
  return { id, path, receiver, token: receiver.split('/').at(-1) ?? '' };
}

/** Assigns a new provider to a monitor. Returns the id of the provider. */
export async function assignProvider(user: TestUser, { path }: { path: string }, enabled = true): Promise<number> {
  const provider = await createProvider(user);
  await user.api.post(`${path}/notifications`, { json: { provider_id: provider.id, enabled } });
  return provider.id;
}

export async function readMonitor(user: TestUser, { path }: { path: string }) {
  return (await user.api.get(path)).body.data;
}

export async function readIncidents(user: TestUser, { path }: { path: string }) {
  return (await user.api.get(`${path}/incidents`)).body.data;
}

/** Returns the kinds of the alerts of a user, in the order in which they were queued. */
export async function readAlertKinds({ database }: Pick<TestService, 'database'>, { id }: TestUser): Promise<string[]> {
  const alerts = await database.asUser(id, (em) => em.execute<{ kind: string }[]>('select kind from alerts order by id'));
  return alerts.map(({ kind }) => kind);
}

/** Returns how many checks of a monitor were recorded, and how many of them failed. */
export function readCounts({ database }: Pick<TestService, 'database'>, { id }: { id: number }): Promise<CheckCounts> {
  return countLoggedChecks(database, id);
}
