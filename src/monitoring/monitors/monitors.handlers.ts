import type { SqlEntityManager } from '@mikro-orm/sql';
import type { operations } from '../../../generated/types/monitoring.ts';
import { findById } from '../../db/find-by-id.ts';
import { columnsOf, readById, selectPage, sql, writeIf } from '../../db/statement.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, ProblemError } from '../../errors.ts';
import type { Handlers, ResourceVersion, Rules } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import { lockQuota } from '../../limits/quota.ts';
import type { Ranges } from '../../net/addresses.ts';
import { type Monitor, MonitorEntity } from './monitor.entity.ts';
import { targetErrors } from './monitor.target.ts';
import { monitorView } from './monitor.view.ts';

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

export function monitorRules({ netAllowed }: Pick<MonitorDeps, 'netAllowed'>): Rules<MonitorOperations> {
  return {
    createMonitor: ({ url, type = 'http' }) => (url === undefined ? [] : targetErrors(url, type, netAllowed)),
  };
}

export function monitorHandlers({ maxMonitors, netAllowed, limiters }: MonitorDeps): Handlers<MonitorOperations, UserDatabase> {
  const manualChecks = limiters.create('check-now', 1, 10);
  return {
    async listMonitors({ query, url }, { db }) {
      const { status, type, page, pageSize } = query;
      const [monitors, counted] = await db.query(
        ...selectPage(MonitorEntity, {
          where: '($1::text is null or status = $1) and ($2::text is null or type = $2)',
          values: [status, type],
          orderBy: 'id desc',
          page,
          pageSize,
        }),
      );
      return { body: { data: monitors.map(monitorView), ...pageMeta(url, { page, pageSize, counted }) } };
    },

    async createMonitor({ body }, { caller: { userId }, db }) {
      const monitor = await db.transaction(async (em) => {
        await lockQuota(em, userId, 'monitors');
        if ((await em.count(MonitorEntity)) >= maxMonitors)
          throw new ProblemError('quota_exceeded', `A user can have at most ${maxMonitors} monitors.`);
        const created = em.create(MonitorEntity, {
          userId,
          friendlyName: body.friendly_name,
          url: body.url,
          type: body.type,
          intervalSeconds: body.interval,
          isActive: body.is_active,
          status: body.is_active ? 'pending' : 'paused',
        });
        await em.flush();
        return created;
      });
      return { ...monitorResult(monitor), location: `/api/monitors/${monitor.id}`, created: { name: 'monitor', id: monitor.id } };
    },

    async showMonitor({ path }, { db }) {
      return monitorResult(await readById(db, MonitorEntity, path.id));
    },

    async updateMonitor({ path, body }, { db, requireVersion }) {
      const monitor = await db.transaction(async (em) => {
        const found = await findById(em, MonitorEntity, path.id, { lock: true });
        requireVersion(monitorVersion(found));
        const { url = found.url, type = found.type } = body;
        const targetChanged = url !== found.url || type !== found.type;
        const errors = targetChanged ? targetErrors(url, type, netAllowed) : [];
        if (errors.length > 0) throw new InvalidRequest(errors);
        const isActive = body.is_active ?? found.isActive;
        if (targetChanged || isActive !== found.isActive) await resetState(em, found, isActive);
        if (Object.keys(body).length > 0) {
          Object.assign(found, { url, type, isActive });
          found.friendlyName = body.friendly_name ?? found.friendlyName;
          found.intervalSeconds = body.interval ?? found.intervalSeconds;
          found.settingsVersion++;
          found.updatedAt = new Date();
          await em.flush();
        }
        return found;
      });
      return monitorResult(monitor);
    },

    async deleteMonitor({ path }, { db, requireVersion }) {
      await db.transaction(async (em) => {
        requireVersion(monitorVersion(await findById(em, MonitorEntity, path.id, { lock: true })));
        // Incidents and assignments are deleted by cascade.
        await em.nativeDelete(MonitorEntity, { id: path.id });
      });
      return { body: { id: path.id, object: 'monitor', deleted: true } };
    },

    async checkMonitor({ path: { id } }, { db }) {
      requireActive(await readById(db, MonitorEntity, id));
      await enforceLimit(manualChecks, String(id), 'A monitor can be checked manually once every 10 seconds.');
      const monitor = await writeIf(db, sql<Monitor>(scheduleText, [id]), async () => requireActive(await readById(db, MonitorEntity, id)));
      return monitorResult(monitor);
    },
  };
}

const scheduleText = `update monitors set next_check_at = now() where id = $1 and is_active returning ${columnsOf(MonitorEntity)}`;

function requireActive({ isActive }: Monitor) {
  if (!isActive) throw new ProblemError('monitor_paused', 'A paused monitor cannot be checked. Set is_active to true first.');
}

/** Results from before a pause or for another target are no longer valid. An open incident is resolved without an alert. */
async function resetState(em: SqlEntityManager, monitor: Monitor, isActive: boolean) {
  await em.execute(
    'update incidents set resolved_at = greatest(now(), started_at) where monitor_id = ? and resolved_at is null',
    [monitor.id],
    'run',
  );
  monitor.status = isActive ? 'pending' : 'paused';
  monitor.lastError = null;
  monitor.failures = 0;
  monitor.stateVersion++;
}

function monitorResult(monitor: Monitor) {
  return { body: { data: monitorView(monitor) }, version: monitorVersion(monitor) };
}

function monitorVersion({ id, settingsVersion, stateVersion }: Monitor): ResourceVersion {
  return { kind: 'monitor', id, number: `${settingsVersion}.${stateVersion}` };
}
