import { type Fault, faultsIn } from '../fault.ts';

const outbox = ['test/monitoring/alerts/outbox.test.ts'];
const deliveries = ['test/monitoring/alerts/deliveries.test.ts'];

const reminders = ['test/monitoring/alerts/delays-and-reminders.test.ts'];

export const alertFaults: Fault[] = [
  ...faultsIn({ file: 'src/monitoring/alerts/reminders.ts', tests: reminders }, [
    {
      title: 'an acknowledgment does not end reminders',
      find: 'i.resolved_at is null and i.acknowledged_at is null',
      replace: 'i.resolved_at is null',
    },
    {
      title: 'suspended users get reminders',
      find: "\n    .where(sql<boolean>`not ${isSuspended('user_id')}`)",
      replace: '',
    },
    {
      title: 'only some of the incidents get reminders',
      find: '  return true;',
      replace: '  return false;',
    },
    {
      title: 'all reminders are queued in one transaction',
      find: 'const atOnce = { incidents: 50, assignments: 50 }',
      replace: 'const atOnce = { incidents: 5000, assignments: 5000 }',
    },
    {
      title: 'incidents with many providers are looked at in one transaction',
      find: 'sql.lit(atOnce.assignments)',
      replace: 'sql.lit(5000)',
    },
    {
      title: 'reminders pile up while none is sent',
      find: 'secondsLeft <= 0 && !isWaiting',
      replace: 'secondsLeft <= 0',
    },
    {
      title: 'a disabled assignment gets reminders',
      find: ".on('n.enabled', '=', sql.lit(true)),\n    )\n    .leftJoinLateral",
      replace: ',\n    )\n    .leftJoinLateral',
    },
    {
      title: 'a provider gets the reminders of another one earlier',
      find: 'secondsLeft <= 0 && !isWaiting',
      replace: '!isWaiting',
    },
    {
      title: 'an incident is looked at again only when its last reminder is due',
      find: 'Math.min(...waits)',
      replace: 'Math.max(...waits)',
    },
    {
      title: 'the first reminder does not wait for the delay',
      find: "${now} + ${seconds('n.delay_seconds')} + ",
      replace: '${now} + ',
    },
    {
      title: 'all reminders of an incident are the first one',
      find: 'coalesce(last.sequence, 0) + 1',
      replace: 'coalesce(last.sequence, 0) * 0 + 1',
    },
    {
      title: 'the incidents of one user delay the reminders of the others',
      find: "    .orderBy('d.turn')\n",
      replace: '',
      tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > take turns'],
    },
    {
      title: 'reminders that are suppressed by a limit fill the log',
      find: "last.status = 'suppressed' and",
      replace: "last.status = 'none' and",
    },
    {
      title: 'a provider that is deleted meanwhile prevents that others are reminded',
      find: "        .forKeyShare('p')\n",
      replace: '',
      tests: ['test/monitoring/alerts/deleted-providers.test.ts'],
    },
    {
      title: 'reminders of an open incident are not planned when the assignment changes',
      find: '.set({ remind_at: now })',
      replace: '.set({ remind_at: null })',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/outbox.ts', tests: reminders }, [
    {
      title: 'warnings have the delay of outages',
      find: "case when e.type = 'monitor.down' then n.delay_seconds else 0 end",
      replace: 'n.delay_seconds',
    },
    {
      title: 'alerts with a delay seem to be stuck',
      find: "\n    .where('queued_at', '<=', now)",
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/cancel-alerts.ts', tests: reminders }, [
    {
      title: 'a reminder that waits is sent after the incident',
      find: "kind('monitor.reminder')",
      replace: "kind('test')",
    },
    {
      title: 'a reminder whose attempt fails is tried again after the incident is acknowledged',
      find: "kind('monitor.reminder')),",
      replace: "kind('monitor.reminder')).where('a.lease_token', 'is', null),",
      tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > after the incident was acknowledged'],
    },
    {
      title: 'a short outage is reported although it was over before the delay',
      find: ".where('a.queued_at', '>', now),",
      replace: ".where('a.queued_at', '<', now),",
    },
    {
      title: 'an alert that waits for its provider is dropped as a short outage',
      find: ".where('a.queued_at', '>', now),",
      replace: ',',
    },
    {
      title: 'the recovery of a short outage is reported',
      find: 'in (${delayReasons}))`;',
      replace: "in ('', ${inDelay.acknowledged}))`;",
    },
    {
      title: 'the recovery of an outage that was acknowledged before the delay was over is reported',
      find: 'in (${delayReasons}))`;',
      replace: "in ('', ${inDelay.resolved}))`;",
    },
    {
      title: 'a provider that is not assigned any more loses its other alerts',
      find: "    .where(sql<boolean>`(a.payload #>> '{data,monitor,id}')::bigint = any (${given.monitorIds}::bigint[])`)\n",
      replace: '    .where(sql<boolean>`${given.monitorIds}::bigint[] is not null`)\n',
      tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > takes along the alerts that wait'],
    },
    {
      title: 'other providers of a monitor lose their alerts when one is not assigned any more',
      find: "    .where('a.provider_id', '=', given.providerId)\n",
      replace: '    .where(sql<boolean>`${given.providerId}::bigint is not null`)\n',
      tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > takes along the alerts that wait'],
    },
    {
      title: 'pausing a monitor cancels the alerts of all monitors',
      find: ".where('m.id', '=', anyOf(ids))\n    .where(hasNoIncident)",
      replace: ".where('m.id', '<>', sql<number>`all (${ids}::bigint[])`)\n    .where(hasNoIncident)",
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > other monitors alone'],
    },
    {
      title: 'renaming a monitor cancels its alerts',
      find: '\n    .where(hasNoIncident);',
      replace: ';',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > renaming it cancels nothing'],
    },
    {
      title: 'a provider is told of the end of an outage because another one was told of it',
      find: ' and told.provider_id = a.provider_id',
      replace: '',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > but not others'],
    },
    {
      title: 'a provider is told of the end of an outage because it was told of another one',
      find: 'and told.incident_id = a.incident_id and',
      replace: 'and',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > but not others'],
    },
    {
      title: 'the recovery that waits is lost with the assignment',
      find: 'a.incident_id is not null and not ${endsTold}',
      replace: 'a.incident_id is not null and ${endsTold} is not null',
      tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > leaves them the recovery'],
    },
    {
      title: 'a provider that was told only by reminders counts as not told',
      find: "['monitor.down', 'monitor.reminder'];",
      replace: "['monitor.down'];",
      tests: ['test/monitoring/alerts/ends.test.ts > only by a reminder'],
    },
    {
      title: 'a warning is sent after the certificate was replaced',
      find: "cancel(sql.lit('not sent: the monitor has a new certificate'))",
      replace: "cancel(sql.lit('not sent: the monitor has a new certificate')).where('a.id', '<', 0)",
      tests: ['test/monitoring/engine/tls-renewals.test.ts > is dropped'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/after-reset.ts', tests: ['test/monitoring/alerts/delays-and-reminders.test.ts'] }, [
    {
      title: 'a reminder that is queued while the monitor is paused is sent',
      find: '    lockIncidents({ ids }),\n',
      replace: '',
      tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > while the monitor is paused'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/delivered.ts', tests: ['test/monitoring/alerts/dropped-alerts.test.ts'] }, [
    {
      title: 'whoever was told of an outage is not told that it is over if the monitor is paused then',
      find: "${column(alias, 'status')} = 'sent'",
      replace: "${column(alias, 'status')} = 'none'",
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > cancels a recovery only if'],
    },
    {
      title: 'an incident stays open whose opening was not confirmed',
      find: " or ${column(alias, 'counted_at')} is not null",
      replace: '',
      tests: ['test/monitoring/alerts/ends.test.ts > was lost'],
    },
    {
      title: 'an alert that is sent again in vain counts as never delivered',
      find: "${column(alias, 'first_sent_at')} is not null",
      replace: "${column(alias, 'first_sent_at')} is null and false",
      tests: ['test/monitoring/alerts/delivery-log.test.ts > is sent again in vain'],
    },
    {
      title: 'the recovery of an alert that is being sent is canceled',
      find: " or ${column(alias, 'lease_token')} is not null)",
      replace: ')',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > the recovery follows it'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/ends.ts', tests: ['test/monitoring/alerts/ends.test.ts'] }, [
    {
      title: 'the incident of a deleted monitor stays open at PagerDuty',
      find: "${isDeleted ? sql`null::bigint` : sql`open.id`}, p.id, 'monitor.recovered'",
      replace: "open.id, p.id, 'monitor.recovered'",
    },
    {
      title: 'renaming a monitor resolves its incident at PagerDuty',
      find: ' and ${hasNoIncident})`',
      replace: ' and ${hasNoIncident} is not null)`',
      tests: ['test/monitoring/alerts/ends.test.ts > is renamed'],
    },
    {
      title: 'an end that waits is deleted with its monitor',
      find: "join alerts as a on a.user_id = p.user_id and a.provider_id = p.id and a.status = 'queued'",
      replace: "join alerts as a on a.user_id = p.user_id and a.provider_id = p.id and a.status = 'none'",
    },
    {
      title: 'a second warning about the same certificate is never ended',
      find: 'and end_of.id > a.id and',
      replace: 'and',
      tests: ['test/monitoring/alerts/ends.test.ts > a second warning about the same certificate'],
    },
    {
      title: 'a warning that was not sent prevents the end of the one before',
      find: "and end_of.kind = 'monitor.tls_renewed' and end_of.payload ->> 'replacedExpiry' = ${expiry('a')})",
      replace: 'and end_of.id > a.id)',
    },
    {
      title: 'the warning of a deleted monitor stays open at PagerDuty',
      find: "${isDeleted ? sql`null::bigint` : sql`a.monitor_id`}, p.id, 'monitor.tls_renewed'",
      replace: "a.monitor_id, p.id, 'monitor.tls_renewed'",
    },
    {
      title: 'people are told that a monitor was paused',
      find: "join open on open.id = a.incident_id\n      join providers as p on p.user_id = a.user_id and p.id = a.provider_id and ${keepsIncidents('p')}",
      replace: 'join open on open.id = a.incident_id\n      join providers as p on p.user_id = a.user_id and p.id = a.provider_id',
    },
    {
      title: 'pausing a monitor ends the warning of its certificate',
      find: ' and m.tls_warned_expiry is null)',
      replace: ')',
    },
    {
      title: 'people get a message about a certificate that they have replaced',
      find: "        .where(keepsIncidents('p'))\n",
      replace: '',
      tests: ['test/monitoring/engine/tls-renewals.test.ts'],
    },
    {
      title: 'a provider that is deleted meanwhile prevents that others are told of an end',
      find: "join open on open.id = a.incident_id\n      join providers as p on p.user_id = a.user_id and p.id = a.provider_id and ${keepsIncidents('p')}\n       for key share of p\n",
      replace:
        "join open on open.id = a.incident_id\n      join providers as p on p.user_id = a.user_id and p.id = a.provider_id and ${keepsIncidents('p')}\n",
      tests: ['test/monitoring/alerts/deleted-providers.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/outbox.ts', tests: ['test/monitoring/alerts/deleted-providers.test.ts'] }, [
    {
      title: 'a provider that is deleted meanwhile prevents that others are told of an outage',
      find: "        .forKeyShare('p'),\n",
      replace: '',
    },
    {
      title: 'who was told of an outage only by a reminder is not told of its end',
      find: 'a.sequence <= ${sql.lit(firstReminders)})',
      replace: 'a.sequence <= 0)',
      tests: ['test/monitoring/alerts/ends.test.ts > only by a reminder'],
    },
    {
      title: 'whoever was told of an outage is not told of its end if the assignment was removed',
      find: 'if (isTold) recipients.set(',
      replace: 'if (isTold && providerId < 0) recipients.set(',
      tests: ['test/monitoring/alerts/delays-and-reminders.test.ts > leaves the recovery'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/admission.ts', tests: ['test/monitoring/alerts/dispatcher.test.ts > caps'] }, [
    {
      title: 'an alert is retried forever',
      find: 'ageSeconds > giveUpSeconds',
      replace: 'ageSeconds < 0',
      tests: deliveries,
    },
    {
      title: 'an alert is given up after an hour',
      find: 'const giveUpSeconds = 24 * 3600;',
      replace: 'const giveUpSeconds = 3600;',
      tests: deliveries,
    },
    {
      title: 'recoveries beyond a limit are not collected',
      find: 'if (isCollecting && !isNoticed)',
      replace: 'if (isCollecting && id < 0)',
      tests: ['test/monitoring/alerts/groups.test.ts > are collected'],
    },
    {
      title: 'a provider gets a message although it has told another process to wait',
      find: '  if (pause) {\n',
      replace: '  if (pause && id < 0) {\n',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > leave alone'],
    },
    { title: 'a retry of an alert counts again', find: 'alerts.filter(({ isCounted }) => !isCounted)', replace: '[...alerts]' },
    { title: 'an alert over the limit is sent', find: '!reached || alert.isCounted', replace: 'reached || alert.isCounted' },
    {
      title: 'an alert over the limit stays queued',
      find: 'await suppress(suppressed, `${limitReason}',
      replace: 'if (id < 0) await suppress(suppressed, `${limitReason}',
    },
    {
      title: 'a group counts as many messages as it lists',
      find: '  if (!first) return {};\n',
      replace:
        '  if (!first) return {};\n  for (const { userId, providerId } of uncounted.slice(1)) await countMessage(query, { userId, providerId, channel });\n',
      tests: ['test/monitoring/alerts/groups.test.ts > twelve outages'],
    },
    {
      title: 'whoever has reached a limit is not told of it',
      find: 'await queueSuppressedNotice(query, provider, reached, first.now);',
      replace: 'id < 0;',
      tests: ['test/monitoring/alerts/groups.test.ts > beyond the limit'],
    },
    {
      title: 'the message about a limit is suppressed by it',
      find: 'endsSentAlert || (isLimitedOtherwise(kind) && !isRepeated)',
      replace: 'endsSentAlert || (isLimitedOtherwise(kind) && isRepeated)',
      tests: ['test/monitoring/alerts/groups.test.ts > beyond the limit'],
    },
    {
      title: 'a message about a limit that is sent again passes the limit',
      find: ' && !isRepeated)',
      replace: ')',
      tests: ['test/monitoring/alerts/delivery-log.test.ts > that is sent again counts'],
    },
    {
      title: 'one recovery takes a whole group past the limit',
      find: '(!exceeded && isExempt(alert))',
      replace: '(!exceeded && wanted.some(isExempt))',
      tests: ['test/monitoring/alerts/groups.test.ts > only those recoveries'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/retention.ts', tests: reminders }, [
    {
      title: 'the reminders of an open incident are never deleted',
      find: "a.kind = 'monitor.reminder' and a.sequence > ${sql.lit(firstReminders)} or ",
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/messages/content.ts', tests: ['test/monitoring/messages/content.test.ts'] }, [
    {
      title: 'the recovery does not say that the incident was acknowledged',
      find: 'incident.acknowledged_at ? [{',
      replace: "incident.acknowledged_at === '' ? [{",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/due-alerts.ts', tests: outbox }, [
    {
      title: 'the providers that have waited longest do not come first',
      find: "\n    .orderBy('p.at');",
      replace: ';',
      tests: ['test/monitoring/alerts/outbox.test.ts > waited longest'],
    },
    {
      title: 'a recovery overtakes the down alert that waits for its next attempt',
      find: "earlier.status = 'queued'\n  or ",
      replace: '',
    },
    {
      title: 'a recovery overtakes a down alert that was canceled while it is being sent',
      find: 'earlier.next_attempt_at > ${now}',
      replace: 'earlier.next_attempt_at < ${now}',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > the recovery follows it'],
    },
    {
      title: 'the alerts of other providers of an incident delay a recovery',
      find: 'earlier.provider_id = a.provider_id and ',
      replace: '',
    },
    {
      title: 'the alerts of users after the first 1,000 are never sent while those have alerts',
      find: 'continueAfter: visited.size === maxVisited ? Math.max(...visited) : 0,',
      replace: 'continueAfter: 0,',
      tests: ['test/monitoring/alerts/outbox.test.ts > a search visits 1,000 users'],
    },
    {
      title: 'the alerts of suspended users are sent',
      find: ".where(sql<boolean>`not ${isSuspended('v.user_id')}`)",
      replace: '',
    },
    {
      title: 'a provider that is sending gets a second message at the same time',
      find: '.where(sql<boolean>`not (p.id = any (${given.busyProviders}::bigint[]))`)',
      replace: '.where(sql<boolean>`(${given.busyProviders}::bigint[]) is not null`)',
    },
    {
      title: 'the newest alerts of a provider are sent first',
      find: "    .orderBy('a.next_attempt_at');",
      replace: "    .orderBy('a.next_attempt_at', 'desc');",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/lease-alerts.ts', tests: outbox }, [
    {
      title: 'an alert with a delay counts as sent again',
      find: '(a.repeated_at is not null)',
      replace: '(a.queued_at > a.created_at)',
      tests: ['test/monitoring/alerts/ends.test.ts > told after a delay'],
    },
    {
      title: 'an incident that is over is opened again at PagerDuty',
      find: "then 'not sent: the incident is resolved'",
      replace: 'then null',
      tests: ['test/monitoring/alerts/ends.test.ts > cannot be opened again'],
    },
    {
      title: 'a leased alert is leased again at once by another process',
      find: 'next_attempt_at: leaseEnd,',
      replace: 'next_attempt_at: now,',
    },
    {
      title: 'attempts are not counted, so that retries never slow down',
      find: 'attempts: sql`attempts + 1`,',
      replace: 'attempts: sql`attempts`,',
    },
    {
      title: 'the recovery of an alert that failed is exempt from the limits',
      find: "endsAlert(tellingKinds, wasDelivered('told'))",
      replace: 'endsAlert(tellingKinds, sql`true`)',
    },
    {
      title: 'the recovery of an alert that failed is canceled without a pause',
      find: ' and told.last_error = ${resetReason}',
      replace: ' and ${resetReason}::text is not null',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > failed without a pause'],
    },
    {
      title: 'the recovery of a canceled alert is sent',
      find: "told.status = 'suppressed' and",
      replace: "told.status = 'queued' and",
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts'],
    },
    {
      title: 'the recovery of an alert that a process may have sent before it died is canceled',
      find: 'told.counted_at is null or told.lease_token is null and not ${isForIncidents}',
      replace: 'told.counted_at is null or true',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts'],
    },
    {
      title: 'the recovery of an alert that a process has leased but never attempted is sent',
      find: 'told.counted_at is null or told.lease_token',
      replace: 'told.lease_token',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/alert-sender.ts', tests: deliveries }, [
    { title: 'a permanent failure is retried', find: 'permanent ? [alerts, []] : [[], alerts]', replace: '[[], alerts]' },
    {
      title: 'every retry of an alert follows after a second',
      find: 'retryDelaySeconds(Math.min(...kept.map(({ attempts }) => attempts)),',
      replace: 'retryDelaySeconds(1,',
      tests: ['test/monitoring/alerts/deliveries.test.ts > after nine failed attempts'],
    },
    {
      title: 'internal errors of a channel are shown as the reason',
      find: "reason: 'an internal error' };",
      replace: 'reason: String(error) };',
    },
    {
      title: 'an alert is sent during the shutdown',
      find: 'if (!attempt || this.#deps.isStopped()) return true;',
      replace: 'if (!attempt) return true;',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > begin during a shutdown'],
    },
    {
      title: 'an alert that was sent is sent again if the database is lost before it is recorded',
      find: 'if (!(error instanceof RetryLaterError) || this.#deps.isStopped()) throw error;',
      replace: 'throw error;',
    },
    {
      title: 'the outcome of an alert is not counted',
      find: 'if (length > 0) this.#deps.metrics',
      replace: 'if (length < 0) this.#deps.metrics',
    },
    {
      title: 'the alerts of a provider that works again wait for their next attempts',
      find: 'if (hasFailed(provider)) await',
      replace: 'if (hasFailed(provider) && id < 0) await',
      tests: ['test/monitoring/alerts/groups.test.ts > works again'],
    },
    {
      title: 'a message that is rejected pauses the provider',
      find: 'permanent ? 0 : pauseSeconds(',
      replace: 'pauseSeconds(',
      tests: ['test/monitoring/alerts/groups.test.ts > rejected for good', 'test/monitoring/alerts/deliveries.test.ts'],
    },
    {
      title: 'a provider gets the next message although it asked for a pause',
      find: 'pauseSeconds(provider.failedAttempts, retryAfterSeconds)',
      replace: 'pauseSeconds(provider.failedAttempts)',
      tests: ['test/monitoring/alerts/groups.test.ts > a group that fails'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/dispatcher.ts', tests: deliveries }, [
    {
      title: 'the dispatcher never looks for due alerts after the first 1,000 users',
      find: 'this.#afterUserId = continueAfter;',
      replace: 'this.#afterUserId = 0;',
      tests: ['test/monitoring/alerts/many-users.test.ts'],
    },
    {
      title: 'the dispatcher never returns to the first users',
      find: 'this.#afterUserId = continueAfter;',
      replace: 'this.#afterUserId = continueAfter || request.afterUserId;',
      tests: ['test/monitoring/alerts/many-users.test.ts'],
    },
    {
      title: 'alerts are looked for only every ten seconds',
      find: 'const minMs = 250;',
      replace: 'const minMs = 10_000;',
      tests: ['test/monitoring/alerts/many-users.test.ts'],
    },
    {
      title: 'an alert whose attempt was prevented by the shutdown waits until its lease expires',
      find: 'if (this.#loop.isStopped) return;\n      for (const alert of batch) this.#leased',
      replace: 'for (const alert of batch) this.#leased',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > begin during a shutdown'],
    },
    {
      title: 'an alert that was being sent at shutdown counts as not sent',
      find: 'this.#leased.set(alert, true)',
      replace: 'this.#leased.set(alert, false)',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > after a shutdown, other'],
    },
    {
      title: 'unsent alerts are not released at shutdown',
      find: 'if (this.#leased.size > 0) await',
      replace: 'if (this.#leased.size < 0) await',
    },
    {
      title: 'a provider that has finished does not let its next alert be sent soon',
      find: '    this.#sending.delete(providerId);\n    this.#loop.wake();',
      replace: '    this.#sending.delete(providerId);',
      tests: ['test/monitoring/alerts/deliveries.test.ts > the next alert of a program'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/leases.ts', tests: outbox }, [
    {
      title: 'an alert that was leased to another process in the meantime is sent',
      find: "    .where('status', '=', sql.lit('queued'))\n    .where('next_attempt_at', '>', now)\n",
      replace: '',
    },
    {
      title: 'an alert that was canceled while it waited for another one is sent',
      find: "    .where('status', '=', sql.lit('queued'))\n    .where('next_attempt_at', '>', now)\n",
      replace: "    .where('next_attempt_at', '>', now)\n",
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > pausing a monitor cancels its alerts'],
    },
    {
      title: 'an alert that was leased before its user was suspended is sent',
      find: "    .where(sql<boolean>`not ${isSuspended('user_id')}`)\n    .orderBy('id')",
      replace: "    .orderBy('id')",
    },
    {
      title: 'an alert is sent after its cancellation was committed',
      find: "    .orderBy('id')\n    .forUpdate(),",
      replace: "    .orderBy('id'),",
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > is committed while its attempt begins'],
    },
    {
      title: 'an alert of a process that died waits for ten minutes',
      find: "interval '60 seconds'",
      replace: "interval '600 seconds'",
      tests: ['test/monitoring/alerts/outbox.test.ts > a lease ends after 60 seconds'],
    },
    {
      title: 'a lease can expire during an attempt, so that another process sends the alert as well',
      find: 'counted_at: sql`coalesce(counted_at, ${now})`, next_attempt_at: leaseEnd }',
      replace: 'counted_at: sql`coalesce(counted_at, ${now})` }',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > a lease is renewed'],
    },
    {
      title: 'the recovery of an alert that was canceled after a failed attempt is sent',
      find: '.set({ lease_token: null }).where',
      replace: '.set({ attempts: 1 }).where',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > after a failed attempt'],
    },
    {
      title: 'the recovery of an alert that failed before the pause is sent',
      find: '    done_at: now,\n    lease_token: null,\n    last_error: failedBecause',
      replace: '    done_at: now,\n    last_error: failedBecause',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > the recovery follows it'],
    },
    {
      title: 'a canceled alert shows the error of an attempt that was running',
      find: "case when status = 'queued' then ${reason}",
      replace: "case when status <> 'sent' then ${reason}",
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > is not repeated'],
    },
    {
      title: 'a process records the outcome of an alert that another process has leased',
      find: "    .where('lease_token', '=', sql<number>`any (${tokens}::bigint[])`);",
      replace: '    .where(sql<boolean>`(${tokens}::bigint[]) is not null`);',
    },
    {
      title: 'a postponed alert keeps its lease, so that the late result of an attempt is recorded',
      find: 'inSeconds(given.seconds), lease_token: null,',
      replace: 'inSeconds(given.seconds),',
    },
    {
      title: 'an alert that was sent keeps the error of an earlier attempt',
      find: '    last_error: null,\n',
      replace: '',
    },
    {
      title: 'the recovery of an alert that was canceled before the shutdown is sent',
      find: 'attempts: sql`attempts - 1` }),',
      replace: "attempts: sql`attempts - 1` }).where('status', '=', sql.lit('queued')),",
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > during a pause'],
    },
    {
      title: 'an alert that was not sent before the shutdown counts as an attempt',
      find: 'attempts - 1`',
      replace: 'attempts - 0`',
    },
    {
      title: 'other processes are not told of alerts that were released',
      find: 'releaseWaiting(waiting), wakeDispatcher({}));',
      replace: 'releaseWaiting(waiting));',
    },
    {
      title: 'an alert that is being sent at shutdown is offered to other processes during the attempt',
      find: 'next_attempt_at: inSeconds(attemptSeconds) })',
      replace: 'next_attempt_at: inSeconds(attemptSeconds * 0) })',
      tests: ['test/monitoring/alerts/dropped-alerts.test.ts > after a shutdown, other'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/outbox.ts', tests: outbox }, [
    {
      title: 'the age of the outbox is that of its newest alert',
      find: 'min(queued_at)), 0)',
      replace: 'max(queued_at)), 0)',
      tests: ['test/monitoring/alerts/outbox.test.ts > the age of the outbox'],
    },
    {
      title: 'the alerts of suspended users count as stuck',
      find: "    .where(sql<boolean>`not ${isSuspended('user_id')}`)\n",
      replace: '',
      tests: ['test/commands/suspend-user.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/batches.ts', tests: ['test/monitoring/alerts/groups.test.ts > batchesOf'] }, [
    { title: 'five alerts become one message', find: 'grouped.length <= maxSingle', replace: 'grouped.length < maxSingle' },
    { title: 'alerts to programs become one message', find: "audience === 'people' ? ", replace: 'audience !== undefined ? ' },
    { title: 'an alert of a group is sent alone as well', find: '.filter((alert) => !group.includes(alert))', replace: '' },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/provider-state.ts', tests: ['test/monitoring/alerts/groups.test.ts'] }, [
    {
      title: 'a provider that works again is still said to fail',
      find: '{ last_delivery_error: null, failing_since: null,',
      replace: '{ last_delivery_error: null,',
      tests: ['test/monitoring/alerts/groups.test.ts > a group that fails'],
    },
    {
      title: 'each failure begins the hour after which the user is told anew',
      find: 'failing_since: sql`coalesce(failing_since, ${now})`',
      replace: 'failing_since: now',
      tests: ['test/monitoring/alerts/groups.test.ts > since the first failure'],
    },
    {
      title: 'a new name ends the pause of a provider',
      find: 'case when not ${changed} then ${sql.ref(column)} end',
      replace: 'case when not ${changed} and false then ${sql.ref(column)} end',
      tests: ['test/monitoring/alerts/delivery-log.test.ts > a new name does not'],
    },
    {
      title: 'a provider with new settings is still said to fail',
      find: "failing_since: unlessChanged('failing_since'),",
      replace: 'failing_since: sql<null>`failing_since`,',
      tests: ['test/monitoring/alerts/delivery-log.test.ts > a new name does not'],
    },
    {
      title: 'the sixth of many outages is a message of its own',
      find: 'when ${messagesInBurst} >= ${sql.lit(burst.messages)}',
      replace: 'when ${messagesInBurst} > ${sql.lit(burst.messages)}',
      tests: ['test/monitoring/alerts/groups.test.ts > five outages'],
    },
    {
      title: 'a message from a minute ago delays the next one',
      find: 'then burst_messages else 0 end + 1)',
      replace: 'then burst_messages else burst_messages end + 1)',
      tests: ['test/monitoring/alerts/groups.test.ts > half a minute'],
    },
    {
      title: 'alerts that were never attempted lose their place when a provider works again',
      find: "        .where('a.attempts', '>', sql.lit(0))\n",
      replace: '',
      tests: ['test/monitoring/alerts/delivery-log.test.ts > new settings'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/notices.ts', tests: ['test/monitoring/alerts/groups.test.ts > after an hour of failures'] }, [
    {
      title: 'the user is told of a failing provider every few seconds',
      find: "        .where('f.failing_told_at', 'is', null)\n",
      replace: '',
      tests: ['test/monitoring/alerts/notices.test.ts > reported once'],
    },
    { title: 'the user is told of a failing provider at once', find: "interval '1 hour'", replace: "interval '1 second'" },
    {
      title: 'a provider that is deleted meanwhile prevents that other users are told of theirs',
      find: "        .forKeyShare('p'),\n",
      replace: '',
      tests: ['test/monitoring/alerts/deleted-providers.test.ts'],
    },
    {
      title: 'the user is told that a provider fails by the one that fails',
      find: "    .where('p.failing_since', 'is', null)\n",
      replace: '',
    },
    {
      title: 'the user is told of a limit with each message that it suppresses',
      find: 'if (!(await markAsTold(query, userId, reached))) return false;',
      replace: 'await markAsTold(query, userId, reached);',
      tests: ['test/monitoring/alerts/dispatcher.test.ts > an SMS beyond the limit'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/deliveries.handlers.ts', tests: ['test/monitoring/alerts/delivery-log.test.ts'] }, [
    { title: 'the deliveries of all providers are listed', find: "    .where('provider_id', '=', given.providerId)\n", replace: '' },
    {
      title: 'the filter of deliveries is ignored',
      find: '(${given.status}::text is null or status = ${given.status})',
      replace: '(${given.status}::text is null or true)',
    },
    {
      title: 'a message that is being sent is sent twice',
      find: '    .where(({ not }) => not(isBeingSent)),\n',
      replace: "    .where('id', '>', 0),\n",
    },
    {
      title: 'a message that is sent again does not count toward the limits',
      find: "case when status = 'queued' then counted_at end",
      replace: 'counted_at',
    },
    {
      title: 'a message that is sent again is given up at once',
      find: 'then least(queued_at, ${now}) else ${now} end',
      replace: 'then least(queued_at, ${now}) else queued_at end',
    },
    {
      title: 'a message that is sent again waits for the next search',
      find: 'selectDelivery(path), wakeDispatcher({}));',
      replace: 'selectDelivery(path));',
      tests: ['test/monitoring/alerts/delivery-log.test.ts > is sent again, with the same id'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/test-log.ts', tests: ['test/monitoring/alerts/delivery-log.test.ts'] }, [
    { title: 'a failed test is logged as sent', find: "then 'sent' else 'failed' end", replace: "then 'sent' else 'sent' end" },
    {
      title: 'a failed test does not show on the provider',
      find: 'recordFailedTest({ id: providerId, reason }), log)',
      replace: 'recordFailedTest({ id: 0, reason }), log)',
    },
    {
      title: 'alerts wait although a test has shown that the provider works',
      find: 'if (reason === null) await',
      replace: 'if (reason === null && providerId < 0) await',
      tests: ['test/monitoring/alerts/delivery-log.test.ts > new settings'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/message-limits.ts', tests: outbox }, [
    {
      title: 'whoever has reached a limit of messages is told to retry after a second',
      find: " + ('1 ' || c.period)::interval - app_now()",
      replace: ' - app_now()',
      tests: ['test/monitoring/alerts/outbox.test.ts > that is reached ends with it'],
    },
    {
      title: 'the limits of messages begin anew at midnight in the time zone of the connection',
      find: "date_trunc(c.period, app_now(), 'UTC')",
      replace: 'date_trunc(c.period, app_now())',
      tests: ['test/monitoring/alerts/outbox.test.ts > days and hours are those of UTC'],
    },
    {
      title: 'a provider gets 10,000 messages per hour',
      find: '{ people: 100, programs',
      replace: '{ people: 10_000, programs',
    },
    {
      title: 'the limit of messages is one too high',
      find: 'count.messages < (isExempt',
      replace: 'count.messages <= (isExempt',
    },
    {
      title: 'people get any number of messages beyond a limit',
      find: '2 * maximum + 1 : Number',
      replace: '20 * maximum : Number',
      tests: ['test/monitoring/alerts/groups.test.ts > are collected'],
    },
    {
      title: 'an exempt message is not counted',
      find: '  await query(increaseCounts(given));\n',
      replace: '  if (!isExempt) await query(increaseCounts(given));\n',
    },
    {
      title: 'the SMS of a user count per provider instead of per user',
      find: 'return [{ counter: name.toLowerCase(),',
      replace: 'return [{ counter: `${name.toLowerCase()} ${providerId}`,',
    },
    {
      title: 'two messages that are counted at the same time are both the last one that is allowed',
      find: 'query(lockUser({ userId }), readCounts(given))',
      replace: 'query(readCounts(given), readCounts(given))',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/message-id.ts', tests: ['test/monitoring/alerts/message-id.test.ts'] }, [
    {
      title: 'two installations give the same Message-ID to different alerts',
      find: '-${createdAt.getTime()}-${installationId}`',
      replace: '-${createdAt.getTime()}-${installationId.slice(0, 0)}`',
      tests: ['test/monitoring/alerts/message-id.test.ts > contains the id of the database'],
    },
    {
      title: 'after a restored backup, other alerts have the Message-IDs of those before',
      find: '-${createdAt.getTime()}-${installationId}`',
      replace: '-${installationId}`',
    },
    {
      title: 'a database that has an id cannot get it',
      find: '    .onConflict((conflict) => conflict.doNothing()),\n',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/alert-events.ts', tests: ['test/monitoring/engine/record.test.ts > the event of an alert'] }, [
    {
      title: 'an event contains no incident',
      find: 'incident: incidentView(incident) };',
      replace: 'incident: null as never };',
    },
    {
      title: 'an event contains the time of the incident as its own',
      find: 'const event = { type, timestamp: now.toISOString(),',
      replace: 'const event = { type, timestamp: (now && incident.startedAt).toISOString(),',
    },
    {
      title: 'a recovery tells the last success before the outage',
      find: "type !== 'monitor.recovered' && lastGoodAt ?",
      replace: 'lastGoodAt ?',
    },
    {
      title: 'an outage does not tell the last success before it',
      find: "type !== 'monitor.recovered' && lastGoodAt ?",
      replace: "type === 'monitor.recovered' && lastGoodAt ?",
    },
    {
      title: 'an alert about a certificate is not about its monitor',
      find: 'monitorId: monitor.id,\n    event: {',
      replace: 'monitorId: 0,\n    event: {',
      tests: ['test/monitoring/engine/tls-warnings.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/alerts/choose-providers.ts', tests: ['test/monitoring/alerts/choose-providers.test.ts'] }, [
    {
      title: 'all channels share their slots',
      find: 'sending.filter((provider) => provider.channel === channel)',
      replace: 'sending.filter((provider) => provider.channel !== undefined)',
    },
  ]),
];
