import type { operations } from '../../../generated/types/monitoring.ts';
import type { Caller } from '../../auth/caller.ts';
import { createWithinQuota, prepareRead, writeIf } from '../../db/rows.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { NotFound, ProblemError } from '../../errors.ts';
import type { Handlers, ResourceVersion, Rules } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import { checkOf } from '../checks/registry.ts';
import { wakeEngine } from '../wake.ts';
import { afterReset } from './after-reset.ts';
import { type Monitor, MonitorEntity } from './monitor.entity.ts';
import { selectPage } from './monitor.list.ts';
import {
  changedTarget,
  columnsOf,
  createErrors,
  dependsOnStored,
  fieldErrors,
  newMonitor,
  optionsIn,
  type SettingsDeps,
} from './monitor.settings.ts';
import { listedMonitorView, monitorView, type ViewContext } from './monitor.view.ts';
import { checkNow, deleteMonitor, insertMonitor, nextMonitorId, updateMonitor } from './monitor.writes.ts';

type MonitorOperations = Pick<
  operations,
  'listMonitors' | 'createMonitor' | 'showMonitor' | 'updateMonitor' | 'deleteMonitor' | 'checkMonitor'
>;

export interface MonitorDeps extends SettingsDeps {
  maxMonitors: number;
  publicUrl: string;
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
  const { maxMonitors, publicUrl, cipher, limiters } = deps;
  const manualChecks = limiters.create('check-now', 1, 10);
  const contextOf = (caller: Caller): ViewContext => ({ caller, publicUrl, cipher });
  const resultOf = (monitor: Monitor, caller: Caller) => {
    const data = monitorView(monitor, contextOf(caller));
    return { body: { data }, version: monitorVersion(monitor), ...(data.heartbeat_url && { containsSecret: true as const }) };
  };
  return {
    async listMonitors({ query, url }, { caller, db }) {
      const { page, pageSize } = query;
      const [monitors, counted] = await db.query(...selectPage(query));
      const data = monitors.map((monitor) => listedMonitorView(monitor, contextOf(caller)));
      const containsSecret = data.some((monitor) => monitor.heartbeat_url);
      return { body: { data, ...pageMeta(url, { page, pageSize, counted }) }, ...(containsSecret && { containsSecret }) };
    },

    async createMonitor({ body }, { caller, db }) {
      const { userId } = caller;
      // Secrets are bound to the id, so it is assigned before the insert if there can be any.
      const hasSecrets = optionsIn(body, body.type) || checkOf(body.type).passive;
      const [[next]] = hasSecrets ? await db.query(nextMonitorId({})) : [[]];
      const insert = insertMonitor({ ...newMonitor(body, { userId, id: next?.id ?? 0 }, cipher), id: next?.id });
      const monitor = await createWithinQuota(db, { table: 'monitors', maximum: maxMonitors }, insert, wakeEngine({})).catch(
        explainWebsite(body.website_id),
      );
      const created = { name: 'monitor', id: monitor.id, canBeRead: true as const };
      return { ...resultOf(monitor, caller), location: `/api/monitors/${monitor.id}`, created };
    },

    async showMonitor({ path }, { caller, db }) {
      return resultOf(await readMonitor(db, path.id), caller);
    },

    async updateMonitor({ path: { id }, body }, { caller, db, allowedVersions, requireVersion }) {
      const readAllowed = async () => {
        const monitor = await readMonitor(db, id);
        requireVersion(monitorVersion(monitor));
        return monitor;
      };
      if (Object.keys(body).length === 0) return resultOf(await readAllowed(), caller);
      const versions = allowedVersions('monitor', id);
      const updated = await writeIf(db, async (isRetry) => {
        const seen = isRetry || dependsOnStored(body) ? await readAllowed() : undefined;
        const target = seen && dependsOnStored(body) ? changedTarget(seen, body, deps) : {};
        return [updateMonitor({ id, versions, ...columnsOf(body), ...target }), ...afterReset([id])];
      }).catch(explainWebsite(body.website_id));
      return resultOf(updated, caller);
    },

    async deleteMonitor({ path: { id } }, { db, allowedVersions, requireVersion }) {
      await writeIf(db, async (isRetry) => {
        if (isRetry) requireVersion(monitorVersion(await readMonitor(db, id)));
        return deleteMonitor({ id, versions: allowedVersions('monitor', id) }); // Incidents and assignments are deleted by cascade.
      });
      return { body: { id, object: 'monitor', deleted: true } };
    },

    async checkMonitor({ path: { id } }, { caller, db }) {
      requireCheckable(await readMonitor(db, id));
      await enforceLimit(manualChecks, String(id), 'A monitor can be checked manually once every 10 seconds.');
      const monitor = await writeIf(db, async (isRetry) => {
        if (isRetry) requireCheckable(await readMonitor(db, id));
        return [checkNow({ id }), wakeEngine({})];
      });
      const { body, ...result } = resultOf(monitor, caller);
      const summary = checkOf(monitor.type).describe({ ...monitor, url: monitor.url ?? '' });
      return { ...result, body: { ...body, check: { summary: summary.slice(0, maxSummary).toWellFormed() } }, resource: body };
    },
  };
}

/** Control characters in a text are written as 6 characters. */
const maxSummary = 4096;

/** Explains the violation of the foreign key to websites. A website of another user is not found either. */
function explainWebsite(websiteId: number | null | undefined): (error: unknown) => never {
  return (error) => {
    // The message of the error names the constraint. Another one is that to the user.
    throw websiteId && String(error).includes('monitors_website_id_fkey') ? new NotFound('Website', websiteId) : error;
  };
}

function requireCheckable({ isActive, type }: Monitor) {
  if (checkOf(type).passive)
    throw new ProblemError(
      'nothing_to_check',
      `A monitor of type ${type} waits for its job and checks nothing. Send a heartbeat to its heartbeat_url instead.`,
    );
  if (!isActive) throw new ProblemError('monitor_paused', 'A paused monitor cannot be checked. Set is_active to true first.');
}

function monitorVersion({ id, version, stateVersion }: Monitor): ResourceVersion {
  return { kind: 'monitor', id, number: `${version}.${stateVersion}` };
}
