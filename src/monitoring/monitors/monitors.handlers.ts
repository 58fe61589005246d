import { sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { createWithinQuota, preparePage, prepareRead, writeIf } from '../../db/rows.ts';
import { selectFrom } from '../../db/tables.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, ProblemError, type ValidationError } from '../../errors.ts';
import type { Handlers, ResourceVersion, Rules } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import type { Ranges } from '../../net/addresses.ts';
import { cancelAfterReset } from '../alerts/outbox.ts';
import type { MonitorType } from '../checks/check.ts';
import { checkOf, checks } from '../checks/registry.ts';
import { wakeEngine } from '../wake.ts';
import { type Monitor, MonitorEntity } from './monitor.entity.ts';
import { monitorView } from './monitor.view.ts';
import { checkNow, deleteMonitor, insertMonitor, type MonitorSettings, resolveAfterReset, updateMonitor } from './monitor.writes.ts';

type MonitorOperations = Pick<
  operations,
  'listMonitors' | 'createMonitor' | 'showMonitor' | 'updateMonitor' | 'deleteMonitor' | 'checkMonitor'
>;

export interface MonitorDeps {
  maxMonitors: number;
  /** Ranges that can be checked although they are not public. */
  netAllowed: Ranges;
  limiters: Limiters;
}

const readMonitor = prepareRead(MonitorEntity);
const selectMonitors = preparePage((given: { status: string | undefined; type: string | undefined }) =>
  selectFrom(MonitorEntity)
    .where(sql<boolean>`(${given.status}::text is null or status = ${given.status})`)
    .where(sql<boolean>`(${given.type}::text is null or type = ${given.type})`)
    .orderBy('id', 'desc'),
);

export function monitorRules({ netAllowed }: Pick<MonitorDeps, 'netAllowed'>): Rules<MonitorOperations> {
  return {
    createMonitor({ url, type, ...body }) {
      if (type === undefined) return { errors: [] }; // It is invalid, so the target cannot be checked.
      return { errors: [...(url === undefined ? [] : targetErrors(url, type, netAllowed)), ...otherSettingsErrors(body, type)] };
    },
  };
}

export function monitorHandlers({ maxMonitors, netAllowed, limiters }: MonitorDeps): Handlers<MonitorOperations, UserDatabase> {
  const manualChecks = limiters.create('check-now', 1, 10);
  return {
    async listMonitors({ query, url }, { db }) {
      const { status, type, page, pageSize } = query;
      const [monitors, counted] = await db.query(...selectMonitors({ status, type, page, pageSize }));
      return { body: { data: monitors.map(monitorView), ...pageMeta(url, { page, pageSize, counted }) } };
    },

    async createMonitor({ body }, { caller: { userId }, db }) {
      const { type, url, friendly_name: friendlyName, interval: intervalSeconds, is_active: isActive } = body;
      const targetHost = checkOf(type).hostOf(url);
      const settings = JSON.stringify(settingsOf(body, type) ?? {});
      const insert = insertMonitor({ userId, friendlyName, url, type, intervalSeconds, isActive, targetHost, settings });
      const monitor = await createWithinQuota(db, { table: 'monitors', maximum: maxMonitors }, insert, wakeEngine({}));
      return { ...monitorResult(monitor), location: `/api/monitors/${monitor.id}`, created: { name: 'monitor', id: monitor.id } };
    },

    async showMonitor({ path }, { db }) {
      return monitorResult(await readMonitor(db, path.id));
    },

    async updateMonitor({ path: { id }, body }, { db, allowedVersions, requireVersion }) {
      const readAllowed = async () => {
        const monitor = await readMonitor(db, id);
        requireVersion(monitorVersion(monitor));
        return monitor;
      };
      if (Object.keys(body).length === 0) return monitorResult(await readAllowed());
      const versions = allowedVersions('monitor', id);
      const updated = await writeIf(db, async (isRetry) => {
        const seen = isRetry || changesTarget(body) ? await readAllowed() : undefined;
        const update = updateMonitor({ id, versions, ...settingsFrom(body), ...(seen && changedTarget(seen, body, netAllowed)) });
        return [update, resolveAfterReset({ id }), cancelAfterReset({ monitorId: id }), wakeEngine({})];
      });
      return monitorResult(updated);
    },

    async deleteMonitor({ path: { id } }, { db, allowedVersions, requireVersion }) {
      await writeIf(db, async (isRetry) => {
        if (isRetry) requireVersion(monitorVersion(await readMonitor(db, id)));
        return [deleteMonitor({ id, versions: allowedVersions('monitor', id) })]; // Incidents and assignments are deleted by cascade.
      });
      return { body: { id, object: 'monitor', deleted: true } };
    },

    async checkMonitor({ path: { id } }, { db }) {
      requireActive(await readMonitor(db, id));
      await enforceLimit(manualChecks, String(id), 'A monitor can be checked manually once every 10 seconds.');
      const monitor = await writeIf(db, async (isRetry) => {
        if (isRetry) requireActive(await readMonitor(db, id));
        return [checkNow({ id }), wakeEngine({})];
      });
      return monitorResult(monitor);
    },
  };
}

type MonitorBody = operations['updateMonitor']['requestBody']['content']['application/json'];

/** Returns the columns that a request changes. Absent fields keep their value. */
function settingsFrom(body: MonitorBody): Partial<MonitorSettings> {
  return {
    ...(body.friendly_name !== undefined && { friendlyName: body.friendly_name }),
    ...(body.interval !== undefined && { intervalSeconds: body.interval }),
    ...(body.is_active !== undefined && { isActive: body.is_active }),
  };
}

/** The settings of a type are part of the target. */
function changesTarget(body: MonitorBody): boolean {
  return body.url !== undefined || body.type !== undefined || monitorTypes.some((type) => settingsOf(body, type));
}

/** Returns the columns of the target. What was not sent, but used for validation, must not change in the meantime. */
function changedTarget(seen: Monitor, body: MonitorBody, netAllowed: Ranges) {
  const { url = seen.url, type = seen.type } = body;
  const isSame = url === seen.url && type === seen.type;
  const errors = [...(isSame ? [] : targetErrors(url, type, netAllowed)), ...otherSettingsErrors(body, type)];
  if (errors.length > 0) throw new InvalidRequest(errors);
  const settings = settingsOf(body, type) ?? (type === seen.type ? undefined : {});
  return {
    targetHost: checkOf(type).hostOf(url),
    ...(settings && { settings: JSON.stringify(settings) }),
    ...(body.url === undefined ? { seenUrl: url } : { url }),
    ...(body.type === undefined ? { seenType: type } : { type }),
  };
}

/** The settings of a type are in an object that has the name of the type. */
function settingsOf(body: object, type: MonitorType): object | undefined {
  return (body as Partial<Record<MonitorType, object>>)[type];
}

const monitorTypes = Object.keys(checks) as MonitorType[];

/** Rejects the settings of another type: they would have no effect. */
function otherSettingsErrors(body: object, type: MonitorType): ValidationError[] {
  return monitorTypes
    .filter((other) => other !== type && settingsOf(body, other))
    .map((other) => ({ in: 'body', pointer: `/${other}`, code: 'field_of_other_type', message: `is only allowed for type ${other}` }));
}

/** Validates the `url` of a monitor, which depends on its type. */
function targetErrors(url: string, type: MonitorType, allowed: Ranges): ValidationError[] {
  const error = checkOf(type).targetError(url, allowed);
  return error ? [{ in: 'body', pointer: '/url', ...error }] : [];
}

function requireActive({ isActive }: Monitor) {
  if (!isActive) throw new ProblemError('monitor_paused', 'A paused monitor cannot be checked. Set is_active to true first.');
}

function monitorResult(monitor: Monitor) {
  return { body: { data: monitorView(monitor) }, version: monitorVersion(monitor) };
}

function monitorVersion({ id, version, stateVersion }: Monitor): ResourceVersion {
  return { kind: 'monitor', id, number: `${version}.${stateVersion}` };
}
