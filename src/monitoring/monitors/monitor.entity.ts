import { defineEntity, p } from '@mikro-orm/core';
import { sql } from 'kysely';
import type { RowOf } from '../../db/tables.ts';
import type { MonitorType, StoredOptions } from '../checks/check.ts';

/** Lazy properties are read only by the statements that name them: those of the engine. */
export const MonitorEntity = defineEntity({
  name: 'Monitor',
  tableName: 'monitors',
  properties: {
    id: p.bigint('number').primary(),
    userId: p.bigint('number'),
    friendlyName: p.text(),
    /** Null if the type has no target. */
    url: p.text().nullable(),
    type: p.text().$type<MonitorType>(),
    /** The options of the type that differ from their defaults. Secrets in them are encrypted. */
    settings: p.json<StoredOptions>().defaultRaw(`'{}'`),
    intervalSeconds: p.integer(),
    timeoutSeconds: p.smallint().default(10),
    /** How many more checks must fail after a failure before the monitor goes down. */
    confirmations: p.smallint().default(2),
    tags: p.array().columnType('text[]').defaultRaw(`'{}'`),
    websiteId: p.bigint('number').nullable(),
    /** Until then no incident opens. */
    maintenanceUntil: p.datetime(3).nullable(),
    tlsExpiresAt: p.datetime(3).nullable(),
    isActive: p.boolean(),
    status: p.text().$type<'pending' | 'up' | 'down' | 'paused'>(),
    lastCheckedAt: p.datetime(3).nullable(),
    lastResponseTimeMs: p.integer().nullable(),
    lastError: p.text().nullable(),
    /** Counts changes of the settings. */
    version: p.integer().default(1),
    /** Counts changes of the status and of the result of the last check. */
    stateVersion: p.integer().default(1),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    updatedAt: p.datetime(3).defaultRaw('app_now()'),
    /** Null while the monitor is paused. */
    nextCheckAt: p.datetime(3).nullable().lazy(),
    /** The result of a check is accepted only with this token. Changing the monitor clears it, so that a late result is dropped. */
    claimToken: p.bigint('number').nullable().lazy(),
    /** Only passive monitors have it: how much longer than the interval they wait. */
    graceSeconds: p.integer().nullable().lazy(),
    /** When the certificate expires that was last warned of, how many warnings there were (negative once there is a new one), and when the last one was. */
    tlsWarnedExpiry: p.datetime(3).nullable().lazy(),
    tlsWarnings: p.smallint().default(0).lazy(),
    tlsWarnedAt: p.datetime(3).nullable().lazy(),
    /** The number of checks of a user that run at the same time on one host is limited. */
    targetHost: p.text().default('').lazy(),
    /** The number of consecutive failures. */
    failures: p.smallint().default(0).lazy(),
    firstFailedAt: p.datetime(3).nullable().lazy(),
    firstCause: p.text().nullable().lazy(),
    firstStatusCode: p.integer().nullable().lazy(),
    /** The last success, unless the monitor was reset since. */
    lastGoodAt: p.datetime(3).nullable().lazy(),
    lastGoodMs: p.integer().nullable().lazy(),
    /** When the monitor is observed: see statistics/observation.ts. The last one is a multirange. */
    observedSince: p.datetime(3).nullable().lazy(),
    observedUntil: p.datetime(3).nullable().lazy(),
    observedBefore: p.text().columnType('tstzmultirange').nullable().lazy(),
    /** From this hour on, statistics must be rolled up again. */
    restateFrom: p.datetime(0).nullable().lazy(),
    /** What a search compares. */
    searchedName: p.text().generated('lower(friendly_name)').default('').lazy(),
    searchedUrl: p.text().generated('lower(url)').nullable().lazy(),
    /** The size of what a claim reads of any length: the options as text, and the URL. */
    claimedBytes: p.integer().generated('octet_length(settings::text) + coalesce(octet_length(url), 0)').default(0).lazy(),
  },
});

export type Monitor = RowOf<typeof MonitorEntity>;

/** Whether monitor `m` cannot have an open incident: it was reset, or it is in maintenance. */
export const hasNoIncident = sql<boolean>`(m.status in ('pending', 'paused') or m.maintenance_until > app_now() is true)`;
