import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { StoredEvent } from '../messages/event.ts';
import type { InstallationEntity } from './installation.entity.ts';

/** An alert as its message is identified. */
export interface AlertIdentity {
  id: number;
  createdAt: Date;
}

/** Identifies the message of an alert, anywhere and forever: the ids of alerts begin at 1 in each database, and after a restored backup again. */
export function messageIdOf({ id, createdAt }: AlertIdentity, installationId: string): string {
  return `alert-${id}-${createdAt.getTime()}-${installationId}`;
}

/** Identifies what an event is about. The ids in it begin at 1 again after a restored backup, so the time when it began belongs to it. */
export function topicOf(event: StoredEvent, installationId: string): string {
  return `sitekeeper-${subjectOf(event)}-${installationId}`;
}

function subjectOf(event: StoredEvent): string {
  const since = (time: string) => Date.parse(time);
  switch (event.type) {
    case 'monitor.down':
    case 'monitor.reminder':
    case 'monitor.recovered':
      return `incident-${event.data.incident.id}-${since(event.data.incident.started_at)}`;
    case 'monitor.tls_expiring':
      return `certificate-${event.data.monitor.id}-${since(event.data.monitor.tls_expires_at ?? event.timestamp)}`;
    case 'monitor.tls_renewed':
      return `certificate-${event.data.monitor.id}-${since(event.replacedExpiry)}`;
    case 'provider.failing':
      return `provider-${event.data.provider_id}-${since(event.data.failing_since)}`;
    case 'alerts.suppressed':
      return `limit-${event.data.provider_id}-${since(event.data.until)}`;
    case 'recipient.confirmation':
      return `confirmation-${event.data.provider_id}-${since(event.timestamp)}`;
    case 'test':
      return `test-${since(event.timestamp)}`;
  }
}

/** Identifies a message about several alerts. A retry may be about other ones, and is then another message. */
export function groupIdOf(alerts: readonly AlertIdentity[], installationId: string): string {
  const ids = alerts.map(({ id }) => id);
  const [first, last] = [Math.min(...ids), Math.max(...ids)];
  const times = alerts.map(({ createdAt }) => createdAt.getTime());
  return `alerts-${first}-${last}-${ids.length}-${Math.max(...times)}-${installationId}`;
}

const db = tables<typeof InstallationEntity>();
const insertInstallation = prepare(() =>
  db
    .insertInto('installation')
    .values({ id: sql<string>`gen_random_uuid()` })
    .onConflict((conflict) => conflict.doNothing()),
);
const selectInstallation = prepare(() => db.selectFrom('installation').select('id'));

/** Reads the id of this database, and creates it if there is none. */
export async function readInstallationId(query: Query): Promise<string> {
  const [, [installation]] = await query(insertInstallation({}), selectInstallation({}));
  if (!installation) throw new Error('The table installation is empty.');
  return installation.id;
}
