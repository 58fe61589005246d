import { type Fault, faultsIn } from '../fault.ts';

const updateMonitor = ['test/monitoring/monitors/update-monitor.test.ts'];
const record = ['test/monitoring/engine/record.test.ts > before a user changed'];
const beyond = ['test/websites/list-websites.test.ts > beyond the first 1,000'];

export const resourceFaults: Fault[] = [
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.writes.ts', tests: updateMonitor }, [
    {
      title: 'a late result of the old URL is recorded after a monitor was repointed',
      find: 'claim_token: sql`case when ${isRescheduled} then null else claim_token end`,',
      replace: 'claim_token: sql`claim_token`,',
      tests: record,
    },
    {
      title: 'a new URL keeps the status of the old one',
      find: '(${changed.url}, ${changed.type}, ${changed.settings}, ${changed.is_active})\n    is distinct from (url, type, settings, is_active)',
      replace: '(${changed.type}, ${changed.settings}, ${changed.is_active})\n    is distinct from (type, settings, is_active)',
    },
    { title: 'a paused monitor stays scheduled', find: 'when ${changed.is_active} then ${soon} end`,', replace: 'else ${soon} end`,' },
    {
      title: 'the error of the old URL is shown for the new one',
      find: 'last_error: sql`case when ${isReset} then null else last_error end`,',
      replace: 'last_error: sql`last_error`,',
    },
    {
      title: 'the open incident of a monitor that was repointed stays open',
      find: '.set({ resolved_at: sql`greatest(app_now(), started_at)` })',
      replace: '.set({ resolved_at: null })',
    },
    {
      title: 'the target of an update can change between its validation and the write',
      find: '.where(sql<boolean>`(url, type) = (coalesce(${given.seenUrl}, url), coalesce(${given.seenType}, type))`)',
      replace: '.where(sql<boolean>`(${given.seenUrl}::text is null or ${given.seenType}::text is null or true)`)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitors.handlers.ts', tests: ['test/monitoring/monitors/check-monitor.test.ts'] }, [
    {
      title: 'an update can point a monitor at a private address',
      find: '...(isSame ? [] : targetErrors(url, type, netAllowed))',
      replace: '...(isSame ? [] : [])',
      tests: updateMonitor,
    },
    {
      title: 'engines are not told of a new monitor',
      find: 'maximum: maxMonitors }, insert, wakeEngine({}));',
      replace: 'maximum: maxMonitors }, insert);',
      tests: ['test/monitoring/engine/wake.test.ts'],
    },
    {
      title: 'the filter by status is ignored',
      find: 'or status = ${given.status})',
      replace: 'or status is not null)',
      tests: ['test/monitoring/monitors/list-monitors.test.ts'],
    },
    {
      title: 'the host of a changed URL is not stored, so that its checks count for the old host',
      find: '    targetHost: checkOf(type).hostOf(url),\n    ...(settings',
      replace: '    ...(settings',
      tests: updateMonitor,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/incidents/incidents.handlers.ts', tests: ['test/monitoring/incidents/list-incidents.test.ts'] }, [
    { title: 'incidents that began before the window are left out', find: 'resolved_at > (select', replace: 'started_at > (select' },
  ]),
  ...faultsIn({ file: 'src/websites/website.list.ts', tests: beyond }, [
    {
      title: 'the pages of websites beyond the middle are in the wrong order',
      find: 'backwards.slice(0, rows).toReversed()',
      replace: 'backwards.slice(0, rows)',
    },
    {
      title: 'the last page of websites contains websites of the page before',
      find: 'backwards.slice(0, rows)',
      replace: 'backwards.slice(0, query.per_page)',
    },
    { title: 'websites beyond 1,000 are missing', find: 'if (rows <= 0) return', replace: 'if (rows <= 0 || before > 1000) return' },
    {
      title: 'websites beyond 1,000 are shifted by one',
      find: 'const after = total - before - rows;',
      replace: 'const after = total - before - rows + 1;',
    },
    {
      title: 'websites beyond 1,000 are those of the first page',
      find: '    const [websites] = await db.query(selectRows(query, before));',
      replace: '    const [websites] = await db.query(selectRows(query, 0));',
    },
  ]),
];
