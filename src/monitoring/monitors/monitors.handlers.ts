import type { operations } from '../../../generated/types/monitoring.ts';
import { createWithinQuota, hasCode, prepareRead, writeIf } from '../../db/rows.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { NotFound, ProblemError } from '../../errors.ts';
import type { Handlers, ResourceVersion, Rules } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import { cancelAfterReset } from '../alerts/outbox.ts';
import { wakeEngine } from '../wake.ts';
import { type Monitor, MonitorEntity } from './monitor.entity.ts';
import { selectPage } from './monitor.list.ts';
import {
  changedTarget,
  changesTarget,
  columnsOf,
  createErrors,
  fieldErrors,
  newMonitor,
  optionsIn,
  type SettingsDeps,
} from './monitor.settings.ts';
import { listedMonitorView, monitorView } from './monitor.view.ts';
import { checkNow, deleteMonitor, insertMonitor, nextMonitorId, resolveAfterReset, updateMonitor } from './monitor.writes.ts';

type MonitorOperations = Pick<
  operations,
  'listMonitors' | 'createMonitor' | 'showMonitor' | 'updateMonitor' | 'deleteMonitor' | 'checkMonitor'
>;

export interface MonitorDeps extends SettingsDeps {
  maxMonitors: number;
  limiters: Limiters;
}

const readMonitor = prepareRead(MonitorEntity);

export function monitorRules({ netAllowed }: Pick<MonitorDeps, 'netAllowed'>): Rules<MonitorOperations> {
  return {
    createMonitor: (body) => ({ errors: createErrors(body, netAllowed) }),
    updateMonitor: (body) => ({ errors: fieldErrors(body) }),
  };
}

export function monitorHandlers(deps: MonitorDeps): Handlers<MonitorOperations, UserDatabase> {
  const { maxMonitors, cipher, limiters } = deps;
  const manualChecks = limiters.create('check-now', 1, 10);
  return {
    async listMonitors({ query, url }, { db }) {
      const { page, pageSize } = query;
      const [monitors, counted] = await db.query(...selectPage(query));
      return { body: { data: monitors.map(listedMonitorView), ...pageMeta(url, { page, pageSize, counted }) } };
    },

    async createMonitor({ body }, { caller: { userId }, db }) {
      // Secrets are bound to the id, so it is assigned before the insert if there can be any.
      const [[next]] = optionsIn(body, body.type) ? await db.query(nextMonitorId({})) : [[]];
      const insert = insertMonitor({ ...newMonitor(body, { userId, id: next?.id ?? 0 }, cipher), id: next?.id });
      const monitor = await createWithinQuota(db, { table: 'monitors', maximum: maxMonitors }, insert, wakeEngine({})).catch(
        explainWebsite(body.website_id),
      );
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
        // A target is validated with what is stored, which must not change in the meantime.
        const target = seen && changesTarget(body) ? { versions: [seen.version], ...changedTarget(seen, body, deps) } : { versions };
        const update = updateMonitor({ id, ...columnsOf(body), ...target });
        return [update, resolveAfterReset({ id }), cancelAfterReset({ monitorId: id }), wakeEngine({})];
      }).catch(explainWebsite(body.website_id));
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

/** Explains the violation of the foreign key to websites. A website of another user is not found either. */
function explainWebsite(websiteId: number | null | undefined): (error: unknown) => never {
  return (error) => {
    throw hasCode(error, foreignKeyViolation) && websiteId ? new NotFound('Website', websiteId) : error;
  };
}

const foreignKeyViolation = '23503';

function requireActive({ isActive }: Monitor) {
  if (!isActive) throw new ProblemError('monitor_paused', 'A paused monitor cannot be checked. Set is_active to true first.');
}

function monitorResult(monitor: Monitor) {
  return { body: { data: monitorView(monitor) }, version: monitorVersion(monitor) };
}

function monitorVersion({ id, version, stateVersion }: Monitor): ResourceVersion {
  return { kind: 'monitor', id, number: `${version}.${stateVersion}` };
}
