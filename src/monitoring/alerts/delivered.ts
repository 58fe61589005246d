import { type RawBuilder, sql } from 'kysely';

/** Whether the alert was delivered. It may be queued again since. */
export function wasDelivered(alias: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${alias}.${name}`);
  return sql`(${column('first_sent_at')} is not null or ${column('status')} = 'sent')`;
}

/** Whether the alert was delivered, or a process may be delivering it. */
export function mayBeDelivered(alias: string): RawBuilder<boolean> {
  return sql`(${wasDelivered(alias)} or ${sql.ref(`${alias}.lease_token`)} is not null)`;
}
