import type { SqlEntityManager } from '@mikro-orm/sql';
import type { operations } from '../../../generated/types/monitoring.ts';
import { type Limiters, limitUse } from '../../access/limiters.ts';
import { lockQuota } from '../../access/quota.ts';
import { findOwn } from '../../db/find-own.ts';
import { readOwn, selectPage } from '../../db/statement.ts';
import { Invalid, Refusal } from '../../errors.ts';
import type { Handlers, Rules } from '../../http/operations.ts';
import type { Ranges } from '../../net/addresses.ts';
import { pageOf } from '../../paging.ts';
import { type Monitor, MonitorEntity } from './monitor.entity.ts';
import { targetFaults } from './monitor.target.ts';
import { monitorView } from './monitor.view.ts';

type MonitorOperations = Pick<
  operations,
  'listMonitors' | 'createMonitor' | 'showMonitor' | 'updateMonitor' | 'deleteMonitor' | 'checkMonitor'
>;

interface Parts {
  maxMonitors: number;
  /** Ranges that may be checked beside the public ones. */
  netAllowed: Ranges;
  limiters: Limiters;
}

export function monitorRules({ netAllowed }: Pick<Parts, 'netAllowed'>): Rules<MonitorOperations> {
  return {
    createMonitor: ({ url, type = 'http' }) => (url === undefined ? [] : targetFaults(url, type, netAllowed)),
  };
}

export function monitorHandlers({ maxMonitors, netAllowed, limiters }: Parts): Handlers<MonitorOperations> {
  const checksNow = limiters.create('check-now', 1, 10);
  return {
    async listMonitors({ query, url }, { ask }) {
      const { status, type, page, pageSize } = query;
      const [monitors, counted] = await ask(
        ...selectPage(MonitorEntity, {
          where: '($1::text is null or status = $1) and ($2::text is null or type = $2)',
          values: [status, type],
          orderBy: 'id desc',
          page,
          pageSize,
        }),
      );
      return { body: { data: monitors.map(monitorView), ...pageOf(url, { page, pageSize, counted }) } };
    },

    async createMonitor({ body }, { caller: { userId }, asUser }) {
      const monitor = await asUser(async (em) => {
        await lockQuota(em, userId, 'monitors');
        if ((await em.count(MonitorEntity)) >= maxMonitors)
          throw new Refusal('quota_exceeded', `A user may have at most ${maxMonitors} monitors.`);
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
      return { ...monitorReply(monitor), location: `/api/monitors/${monitor.id}` };
    },

    async showMonitor({ path }, { ask }) {
      return monitorReply(await readOwn(ask, MonitorEntity, path.id));
    },

    async updateMonitor({ path, body }, { asUser, requireVersion }) {
      const monitor = await asUser(async (em) => {
        const found = await findOwn(em, MonitorEntity, path.id, { lock: true });
        requireVersion(versionOf(found));
        const { url = found.url, type = found.type } = body;
        const isRepointed = url !== found.url || type !== found.type;
        const faults = isRepointed ? targetFaults(url, type, netAllowed) : [];
        if (faults.length > 0) throw new Invalid(faults);
        const isActive = body.is_active ?? found.isActive;
        if (isRepointed || isActive !== found.isActive) await startAfresh(em, found, isActive);
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
      return monitorReply(monitor);
    },

    async deleteMonitor({ path }, { asUser, requireVersion }) {
      await asUser(async (em) => {
        requireVersion(versionOf(await findOwn(em, MonitorEntity, path.id, { lock: true })));
        // Incidents and assignments go along.
        await em.nativeDelete(MonitorEntity, { id: path.id });
      });
      return { body: { id: path.id, object: 'monitor', deleted: true } };
    },

    async checkMonitor({ path }, { asUser }) {
      const monitor = await asUser(async (em) => {
        const found = await findOwn(em, MonitorEntity, path.id, { lock: true });
        if (!found.isActive) throw new Refusal('monitor_paused', 'A paused monitor is not checked. Set is_active to true first.');
        await limitUse(checksNow, String(found.id), 'A monitor can be checked by hand once in 10 seconds.');
        await em.execute('update monitors set next_check_at = now() where id = ?', [found.id], 'run');
        return found;
      });
      return monitorReply(monitor);
    },
  };
}

/** What was found out about the old target, or before the pause, says nothing about now. No alert is sent. */
async function startAfresh(em: SqlEntityManager, monitor: Monitor, isActive: boolean) {
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

function monitorReply(monitor: Monitor) {
  return { body: { data: monitorView(monitor) }, version: versionOf(monitor) };
}

function versionOf({ settingsVersion, stateVersion }: Monitor): string {
  return `${settingsVersion}.${stateVersion}`;
}
