import { type Fault, faultsIn } from '../fault.ts';

const updateMonitor = ['test/monitoring/monitors/update-monitor.test.ts'];
const updateProvider = ['test/monitoring/providers/update-provider.test.ts'];
const testProvider = ['test/monitoring/providers/test-provider.test.ts'];
const listAllIncidents = ['test/monitoring/incidents/list-all-incidents.test.ts'];
const acknowledgeIncident = ['test/monitoring/incidents/acknowledge-incident.test.ts'];
const record = ['test/monitoring/engine/record.test.ts > before a user changed'];
const beyond = ['test/websites/list-websites.test.ts > beyond the first 1,000'];

export const resourceFaults: Fault[] = [
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.writes.ts', tests: updateMonitor }, [
    {
      title: 'a late result of the old URL is recorded after a monitor was repointed',
      find: 'claim_token: sql<number>`case when ${losesClaim} then null else claim_token end`,',
      replace: 'claim_token: sql<number>`claim_token`,',
      tests: record,
    },
    {
      title: 'a new URL keeps the status of the old one',
      find: '(${isOtherTarget} or ${isOtherCheck}',
      replace: '(${isOtherTarget} and false or ${isOtherCheck}',
    },
    {
      title: 'a manual check makes a monitor due that has become a heartbeat monitor',
      find: "    .where('grace_seconds', 'is', null),\n",
      replace: '    ,\n',
      tests: ['test/monitoring/monitors/check-monitor.test.ts > becomes a heartbeat monitor'],
    },
    {
      title: 'a paused monitor stays scheduled',
      find: 'when not ${changed.is_active} then null when',
      replace: 'when',
    },
    {
      title: 'the error of the old URL is shown for the new one',
      find: 'last_error: sql<string>`case when ${isReset} then null else last_error end`,',
      replace: 'last_error: sql<string>`last_error`,',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/after-reset.ts', tests: updateMonitor }, [
    {
      title: 'the open incident of a monitor that was repointed stays open',
      find: '.set({ resolved_at: sql`greatest(app_now(), i.started_at)` })',
      replace: '.set({ resolved_at: null })',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitors.handlers.ts', tests: updateMonitor }, [
    {
      title: 'the target of an update can change between its validation and the write',
      find: 'versions, ...columnsOf(body), ...target })',
      replace: 'versions, ...columnsOf(body), ...target, ...(seen && { seenType: undefined }) } as never)',
    },
    {
      title: 'engines are not told of a new monitor',
      find: 'maximum: maxMonitors }, insert, wakeEngine({}))',
      replace: 'maximum: maxMonitors }, insert)',
      tests: ['test/monitoring/engine/wake.test.ts > creates a monitor'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.settings.ts', tests: updateMonitor }, [
    {
      title: 'an update can point a monitor at a private address',
      find: '...(isSameType && isSameUrl ? [] : targetErrors(url, type, netAllowed))',
      replace: '...(isSameType && isSameUrl ? [] : [])',
    },
    {
      title: 'the host of a changed URL is not stored, so that its checks count for the old host',
      find: "    targetHost: url === null ? '' : hostOf(url),\n",
      replace: "    targetHost: url === null ? hostOf('') : '',\n",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.list.ts', tests: ['test/monitoring/monitors/list-monitors.test.ts'] }, [
    {
      title: 'a search depends on the case of letters in names',
      find: 'position(lower(${given.search}) in searched_name)',
      replace: 'position(lower(${given.search}) in friendly_name)',
    },
    {
      title: 'a search depends on the case of letters in URLs',
      find: 'position(lower(${given.search}) in searched_url)',
      replace: 'position(lower(${given.search}) in url)',
    },
    { title: 'the filter by status is ignored', find: 'or status = ${given.status})', replace: 'or status is not null)' },
  ]),
  ...faultsIn({ file: 'src/monitoring/providers/providers.handlers.ts', tests: updateProvider }, [
    {
      title: 'an update of a provider deletes the settings that it does not contain',
      find: 'sql`settings || ${given.changes}::jsonb`',
      replace: 'sql`${given.changes}::jsonb`',
    },
    {
      title: 'an update of a provider without a name removes its name',
      find: "...setGiven(ProviderEntity, given, ['name'])",
      replace: 'name: given.name',
    },
    {
      title: 'an update of only the name of a provider is ignored',
      find: 'if (name === undefined && Object.keys(fields).length === 0)',
      replace: 'if (Object.keys(fields).length === 0)',
    },
    {
      title: 'the name of a new provider is lost',
      find: '    name: given.name,\n',
      replace: '',
      tests: ['test/monitoring/providers/create-provider.test.ts'],
    },
    {
      title: 'the type of a provider can be changed',
      find: '  if (given === undefined || given === stored) return;\n',
      replace: '  if (given === undefined || stored) return;\n',
    },
    {
      title: 'a provider gets settings of other types',
      find: '        rejectFieldsOfOtherTypes(channels, provider.providerType, fields);\n',
      replace: '',
    },
    {
      title: 'an update of a provider ignores a version that was written in the meantime',
      find: "versions: allowedVersions('provider', id),\n          changes: JSON",
      replace: "versions: allowedVersions('provider', 0) && null,\n          changes: JSON",
    },
    {
      title: 'a provider is deleted although another version was expected',
      find: "deleteProvider({ id, versions: allowedVersions('provider', id) })",
      replace: "deleteProvider({ id, versions: allowedVersions('provider', 0) && null })",
      tests: ['test/monitoring/providers/delete-provider.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/providers/test-provider.handlers.ts', tests: testProvider }, [
    {
      title: 'a provider can be tested 500 times per minute',
      find: "'test-provider', 5, 60)",
      replace: "'test-provider', 500, 60)",
    },
    {
      title: 'the limit of tests of a provider lasts for an hour',
      find: "'test-provider', 5, 60)",
      replace: "'test-provider', 5, 3600)",
    },
    {
      title: 'the limit of tests of a user ends after a minute',
      find: "'test-user', 20, 3600)",
      replace: "'test-user', 20, 60)",
    },
    {
      title: 'all users share the limit of tests',
      find: 'enforceLimit(testsPerUser, String(userId),',
      replace: "enforceLimit(testsPerUser, 'all',",
    },
    {
      title: 'a test is sent although the limit of messages is reached',
      find: 'if (reached) throw limitReached(reached);',
      replace: 'if (reached === null) throw limitReached(reached);',
    },
    {
      title: 'a failed test of a provider is an internal error',
      find: 'if (!(error instanceof DeliveryFailed)) throw error;',
      replace: 'if (!(error instanceof DeliveryFailed) || error.message !== undefined) throw error;',
    },
  ]),
  ...faultsIn(
    {
      file: 'src/monitoring/notifications/notifications.handlers.ts',
      tests: ['test/monitoring/notifications/remove-notification.test.ts'],
    },
    [
      {
        title: 'a provider is removed from all monitors',
        find: "    .where('monitor_id', '=', given.monitorId)\n    .where('provider_id'",
        replace: "    .where('monitor_id', '<>', 0 * given.monitorId)\n    .where('provider_id'",
      },
      {
        title: 'all providers are removed from a monitor',
        find: "    .where('provider_id', '=', given.providerId)\n",
        replace: "    .where('provider_id', '<>', 0 * given.providerId)\n",
      },
      {
        title: 'the provider in the query is ignored if the body has another one',
        find: '  if (inQuery !== undefined && inQuery !== providerId) throw new InvalidRequest([differentProvider]);\n',
        replace: '',
      },
      {
        title: 'removing a provider that is not assigned succeeds',
        find: 'if (!removed) throw',
        replace: 'if (removed === null) throw',
      },
      {
        title: 'the list of assignments contains those of other monitors',
        find: "selectFrom(NotificationEntity).where('monitor_id', '=', given.monitorId).orderBy",
        replace: "selectFrom(NotificationEntity).where('monitor_id', '<>', 0 * given.monitorId).orderBy",
        tests: ['test/monitoring/notifications/list-notifications.test.ts'],
      },
      {
        title: 'the reminders of an assignment that exists cannot be changed',
        find: "remind_every_seconds: row.ref('excluded.remind_every_seconds'),",
        replace: '',
        tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > replaces all settings'],
      },
      {
        title: 'an assignment during an incident has no reminders',
        find: '[planReminders({ monitorIds: [path.id] }), wakeDispatcher({})]',
        replace: '[wakeDispatcher({})]',
        tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > during an incident'],
      },
      {
        title: 'dispatchers are not told of an assignment with reminders',
        find: '[planReminders({ monitorIds: [path.id] }), wakeDispatcher({})]',
        replace: '[planReminders({ monitorIds: [path.id] })]',
        tests: ['test/monitoring/engine/wake.test.ts > with reminders of an open incident'],
      },
      {
        title: 'an assignment that exists cannot be disabled',
        find: "enabled: row.ref('excluded.enabled'),",
        replace: '',
        tests: ['test/monitoring/notifications/add-notification.test.ts'],
      },
      {
        title: 'a monitor that is deleted while a provider is assigned to it is reported as a provider',
        find: "String(error).includes('monitor_id_fkey') ?",
        replace: "String(error).includes('no such constraint') ?",
        tests: ['test/monitoring/notifications/add-notification.test.ts'],
      },
    ],
  ),
  ...faultsIn({ file: 'src/monitoring/incidents/incident.list.ts', tests: listAllIncidents }, [
    {
      title: 'incidents that began before the window are left out',
      find: 'resolved_at > (select',
      replace: 'started_at > (select',
      tests: ['test/monitoring/incidents/list-incidents.test.ts'],
    },
    {
      title: 'the list of all incidents ignores the status',
      find: "= 'open') = (resolved_at is null))",
      replace: "= 'open') is not null)",
    },
    {
      title: 'the number of all incidents is that of every status',
      find: 'countMatching(filter)]',
      replace: 'countMatching({ ...filter, status: undefined })]',
    },
    {
      title: 'every page of the list of all incidents is the first one',
      find: 'offset: (page - 1) * pageSize }',
      replace: 'offset: 0 * page }',
    },
    {
      title: 'the list of all incidents begins with the oldest',
      find: ".where('id', 'in', ids).orderBy('started_at', 'desc').orderBy('id', 'desc')",
      replace: ".where('id', 'in', ids).orderBy('started_at', 'asc').orderBy('id', 'asc')",
    },
    {
      title: 'incidents that started at the same time are in the order of their creation',
      find: ".select('id').orderBy('started_at', 'desc').orderBy('id', 'desc')",
      replace: ".select('id').orderBy('started_at', 'desc').orderBy('id', 'asc')",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/incidents/incidents.handlers.ts', tests: acknowledgeIncident }, [
    {
      title: 'a second acknowledgment replaces the time of the first',
      find: "    .where('acknowledged_at', 'is', null)\n",
      replace: '',
    },
    {
      title: 'an acknowledgment acknowledges all open incidents',
      find: ".where('id', '=', id)",
      replace: ".where('id', '<>', 0 * id)",
    },
    {
      title: 'an incident is acknowledged before it started',
      find: 'sql`greatest(app_now(), started_at)`',
      replace: 'sql`app_now()`',
    },
    {
      title: 'an incident that was resolved after its acknowledgment can be acknowledged again',
      find: 'if (incident.resolvedAt)',
      replace: 'if (incident.resolvedAt && !incident.acknowledgedAt)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/incidents/incident.view.ts', tests: acknowledgeIncident }, [
    {
      title: 'an incident does not show when it was acknowledged',
      find: 'incident.acknowledgedAt?.toISOString() ?? null',
      replace: 'null',
    },
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
