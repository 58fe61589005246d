import { type RawBuilder, sql } from 'kysely';
import { typesWithIncidents } from '../channels/registry.ts';

/** An incident can have thousands of reminders. Whoever was told of it only by reminders was told by one of these. */
export const firstReminders = 50;

/** Whether the alert was delivered. It may be queued again since. */
export function wasDelivered(alias: string): RawBuilder<boolean> {
  return sql`(${column(alias, 'first_sent_at')} is not null or ${column(alias, 'status')} = 'sent')`;
}

/** Whether the alert was delivered, or a process may be delivering it. */
export function mayBeDelivered(alias: string): RawBuilder<boolean> {
  return sql`(${wasDelivered(alias)} or ${column(alias, 'lease_token')} is not null)`;
}

/** Whether a receiver may have accepted the alert. That an attempt has failed is no proof that it has not. */
export function mayBeAccepted(alias: string): RawBuilder<boolean> {
  return sql`(${mayBeDelivered(alias)} or ${column(alias, 'counted_at')} is not null or ${column(alias, 'repeated_at')} is not null)`;
}

/** Whether a provider keeps an incident open until it is told that it has ended. */
export function keepsIncidents(alias: string): RawBuilder<boolean> {
  return isTypeWithIncidents(column(alias, 'provider_type'));
}

export function isTypeWithIncidents(type: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${type} in (${sql.join(typesWithIncidents.map((some) => sql.lit(some)))}))`;
}

function column(alias: string, name: string) {
  return sql.ref(`${alias}.${name}`);
}
