import { type Fault, faultsIn } from '../fault.ts';

const claim = ['test/monitoring/engine/claim.test.ts'];
const record = ['test/monitoring/engine/record.test.ts'];
const localFailures = ['test/monitoring/engine/local-failures.test.ts > a lack of resources is logged'];
const connectivity = ['test/monitoring/engine/connectivity.test.ts'];
const compared = ['test/monitoring/engine/compared-monitors.test.ts'];
const release = ['test/monitoring/engine/release.test.ts'];
const noNetwork = ['test/monitoring/engine/no-network.test.ts'];
const engine = ['test/monitoring/engine/engine.test.ts'];
const suspended = ['test/commands/suspend-user.test.ts'];

export const engineFaults: Fault[] = [
  ...faultsIn({ file: 'src/monitoring/engine/claim.ts', tests: claim }, [
    {
      title: 'a claimed monitor stays due, so that a second process claims it as well',
      find: "then ${now} + (m.timeout_seconds + ${sql.lit(leaseMarginSeconds)}) * interval '1 second' end`",
      replace: 'then ${now} end`',
    },
    {
      title: 'the claim of a process that died expires after five minutes',
      find: 'const leaseMarginSeconds = 20;',
      replace: 'const leaseMarginSeconds = 290;',
    },
    {
      title: 'the monitors of a host with many silent ones never go down',
      find: 'm.last_checked_at < n.due_at - (',
      replace: 'm.last_checked_at < ${now} - (',
      tests: record,
    },
    {
      title: 'a user can have 1,000 checks at once on one host',
      find: 'const checksPerHost = 10;',
      replace: 'const checksPerHost = 1000;',
    },
    {
      title: 'checks that run already do not count toward those of their host',
      find: 'coalesce(running.checks, 0) + row_number()',
      replace: 'row_number()',
    },
    {
      title: 'the checks of all users on one host count together',
      find: 'partition by due.user_id, due.host',
      replace: 'partition by due.host',
    },
    {
      title: 'monitors on a host without free checks block the other monitors of the user',
      find: '.where(sql<boolean>`m.target_host <> all (share.full_hosts)`)',
      replace: '',
    },
    {
      title: 'the monitors that wait longest are claimed last',
      find: ".orderBy('m.next_check_at')\n              .limit(sql.ref<number>('share.slots'))",
      replace: ".orderBy('m.next_check_at', 'desc')\n              .limit(sql.ref<number>('share.slots'))",
    },
    {
      title: 'a monitor of a suspended user that was scheduled is checked',
      find: "claim_token: sql`case when not ${isSuspended('m.user_id')} then nextval('claim_tokens') end`",
      replace: "claim_token: sql`nextval('claim_tokens')`",
      tests: suspended,
    },
    {
      title: 'the engine goes to sleep although more monitors of a user are due than its share',
      find: 'return claimed.length === slots || ',
      replace: 'return ',
    },
    {
      title: 'a claim waits for monitors that another process is claiming',
      find: '              .skipLocked()\n',
      replace: '',
      tests: ['test/monitoring/engine/claim.test.ts > a claim does not wait'],
    },
    {
      title: 'a claim reads the options of any number of large monitors',
      find: 'const claimedBytes = 512 * 1024;',
      replace: 'const claimedBytes = 512 * 1024 ** 2;',
    },
    {
      title: 'small monitors wait for large ones',
      find: "where('excess_bytes', '=', sql.lit(0)), ",
      replace: '',
    },
    {
      title: 'the large monitors of one user keep those of others waiting',
      find: 'over (order by nth_of_user, due_at, id)',
      replace: 'over (order by due_at, id)',
    },
    {
      title: 'the engine goes to sleep although large monitors are due',
      find: 'continueAfter !== undefined || isFull || ',
      replace: 'continueAfter !== undefined || ',
    },
    {
      title: 'the age of the oldest due check ignores monitors that are due',
      find: 'Math.max(0, -(nextDue?.seconds ?? 0))',
      replace: 'Math.max(0, nextDue?.seconds ?? 0)',
      tests: ['test/http/metrics-endpoint.test.ts > waits longest'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/claim.ts', tests: record }, [
    {
      title: 'a failure from before a stop counts as the first of three',
      find: '${hasExpired} or ${beganInMaintenance} then 0',
      replace: '${beganInMaintenance} then 0',
    },
    {
      title: 'failures expire before they can be confirmed',
      find: '(m.interval_seconds + 60) * interval',
      replace: '(m.interval_seconds) * interval',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/due-users.ts', tests: claim }, [
    {
      title: 'thousands of overdue monitors of one user hide those of everybody else',
      find: 'return read <= freeSlots ?',
      replace: 'return read > 0 ?',
    },
    {
      title: 'users whose monitors have waited longest come last',
      find: ".orderBy('due.at', (order) => order.asc().nullsLast())",
      replace: ".orderBy('due.at', (order) => order.desc().nullsLast())",
    },
    {
      title: 'the search for due users ends after the first 1,000',
      find: 'continueAfter: visited.length === maxVisited ? last : undefined',
      replace: 'continueAfter: visited.length < 0 ? last : undefined',
      tests: ['test/monitoring/engine/claim.test.ts > visits 1,000 users'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/record.ts', tests: record }, [
    { title: 'a result is recorded although its claim was replaced', find: ".whereRef('m.claim_token', '=', 'r.token')", replace: '' },
    {
      title: 'the result of a paused monitor with a valid claim is recorded',
      find: "    .where('m.is_active', '=', sql.lit(true))\n",
      replace: '',
    },
    { title: 'a result can be recorded twice', find: '      claim_token: null,\n', replace: '' },
    {
      title: 'a failure is not confirmed soon, but after the whole interval',
      find: "case when r.kind = 'confirm' then app_now() + ${confirmSeconds} * interval '1 second' else ${nextCheckAt} end",
      replace: '${nextCheckAt}',
    },
    {
      title: 'a failure is confirmed after 9 seconds',
      find: 'const confirmSeconds = sql.lit(5);',
      replace: 'const confirmSeconds = sql.lit(9);',
      tests: ['test/monitoring/engine/record.test.ts > a failure is confirmed after 5 seconds'],
    },
    {
      title: 'a monitor that is down is checked only once per interval',
      find: "sql`case when r.status = 'down' then ${atMostAMinute} else m.interval_seconds end`",
      replace: 'sql`m.interval_seconds`',
    },
    {
      title: 'a monitor that is up is checked every minute',
      find: "sql`case when r.status = 'down' then ${atMostAMinute} else m.interval_seconds end`",
      replace: 'atMostAMinute',
    },
    { title: 'the fastest response takes 0 ms', find: 'Math.max(1, Math.ceil(', replace: 'Math.max(0, Math.floor(' },
    {
      title: 'an incident starts at its confirmation instead of the first failure',
      find: 'when r.failures = 1 then ${checkedAt} else m.first_failed_at end`',
      replace: 'else ${checkedAt} end`',
    },
    {
      title: 'the cause of an incident is that of the last failure instead of the first',
      find: 'when r.failures = 1 then r.cause else m.first_cause end`',
      replace: 'else r.cause end`',
    },
    {
      title: 'the status code of an incident is that of the last failure instead of the first',
      find: 'when r.failures = 1 then r.code else m.first_status_code end`',
      replace: 'else r.code end`',
    },
    {
      title: 'the time of the last success is that of the last failure',
      find: 'when r.cause is null then ${ofThis} when',
      replace: 'when true then ${ofThis} when',
    },
    {
      title: 'an alert tells the last success of another target',
      find: "${ofThis} when m.status <> 'pending' then ${before} end`",
      replace: '${ofThis} else ${before} end`',
    },
    {
      title: 'the response time of the last success is that of the last failure',
      find: 'lastGood(sql<number | null>`r.ms`, ',
      replace: 'lastGood(sql<number | null>`m.last_response_time_ms`, ',
    },
    {
      title: 'last_checked_at is when the result was recorded, not when the check began',
      find: "const checkedAt = sql<Date>`app_now() - r.age_ms * interval '1 millisecond'`;",
      replace: 'const checkedAt = sql<Date>`app_now()`;',
    },
    {
      title: 'the history has the time at which the result of a check was recorded, not when the check began',
      find: 'checkedAtMs: Math.round(clock?.ms ?? 0) - age_ms,',
      replace: 'checkedAtMs: Math.round(clock?.ms ?? 0),',
      tests: ['test/monitoring/engine/record.test.ts > a failure is confirmed after 5 seconds'],
    },
    {
      title: 'a long cause is stored in full',
      find: 'result.cause.slice(0, 1000)',
      replace: 'result.cause',
    },
    {
      title: 'the dispatchers of other processes are not told of new alerts',
      find: 'if (alerts > 0) await query(wakeDispatcher({}));',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/statistics/history.ts', tests: record }, [
    {
      title: 'the response times of failures count in the statistics',
      find: 'failure || responseTimeMs === undefined',
      replace: 'responseTimeMs === undefined',
      tests: ['test/monitoring/engine/record.test.ts > stores the time to a failing response'],
    },
    {
      title: 'the statistics count no failures',
      find: 'checks.filter(({ failure }) => failure).length + moreFailures',
      replace: 'moreFailures',
    },
    {
      title: 'the minimum in the statistics is the last response time',
      find: 'minMs = Math.min(minMs, responseTimeMs);',
      replace: 'minMs = responseTimeMs;',
      tests: ['test/monitoring/engine/record.test.ts > records every check with its response time'],
    },
    {
      title: 'the maximum in the statistics is the last response time',
      find: 'maxMs = Math.max(maxMs, responseTimeMs);',
      replace: 'maxMs = responseTimeMs;',
      tests: ['test/monitoring/engine/record.test.ts > records every check with its response time'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/record-incidents.ts', tests: record }, [
    {
      title: 'a recovery is recorded without an alert',
      find: "await incidentEvents(query, 'monitor.recovered', resolved)",
      replace: "await incidentEvents(query, 'monitor.recovered', resolved.slice(0, 0))",
    },
    {
      title: 'a recovery opens a second alert of the kind down',
      find: "incidentEvents(query, 'monitor.recovered', resolved)",
      replace: "incidentEvents(query, 'monitor.down', resolved)",
    },
    {
      title: 'the incident of a recovered monitor stays open',
      find: ".where('i.resolved_at', 'is', null)\n",
      replace: ".where('i.resolved_at', 'is not', null)\n",
    },
    {
      title: 'results cannot be recorded after the clock was moved back during an incident',
      find: 'sql`greatest(m.last_checked_at, i.started_at)`',
      replace: 'sql`m.last_checked_at`',
      tests: ['test/monitoring/engine/record.test.ts > the clock was moved back'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/release.ts', tests: localFailures }, [
    {
      title: 'a process releases claims that another process has taken over',
      find: "    .whereRef('m.claim_token', '=', 'r.token'),",
      replace: ',',
      tests: claim,
    },
    {
      title: 'a short local failure replaces the last error of the monitor',
      find: 'or m.last_checked_at < app_now() - (m.interval_seconds + 60)',
      replace: 'or m.last_checked_at < app_now() - (0)',
      tests: ['test/monitoring/engine/local-failures.test.ts > a short local failure'],
    },
    {
      title: 'a local failure replaces the cause of a failed check that is not confirmed yet',
      find: "m.status = 'pending' and m.failures = 0\n",
      replace: "m.status = 'pending'\n",
      tests: ['test/monitoring/engine/release.test.ts > the cause of a failed check'],
    },
    {
      title: 'a time without a network becomes the cause of an incident',
      find: "(m.grace_seconds is null or m.status <> 'down') and ",
      replace: '',
      tests: ['test/monitoring/heartbeats/missed-heartbeats.test.ts > does not become the cause'],
    },
    {
      title: 'a local failure is never shown to the owner of a new monitor',
      find: "m.status = 'pending' and m.failures = 0\n  or ",
      replace: '',
    },
    {
      title: 'released claims are not announced to other processes',
      find: ', afterSeconds }), wakeEngine({}));',
      replace: ', afterSeconds }));',
      tests: ['test/monitoring/engine/wake.test.ts > releases its claims'],
    },
    {
      title: 'after a suspension every overdue monitor is checked at once',
      find: '.set({ next_check_at: turnAfterInterruption })',
      replace: '.set({ next_check_at: sql`app_now()` })',
      tests: claim,
    },
    {
      title: 'when the network is back, every monitor is checked at once',
      find: 'case when r.waits_for_turn then ${turnAfterInterruption}',
      replace: 'case when false then ${turnAfterInterruption}',
      tests: noNetwork,
    },
    {
      title: 'without a network, the time at which that began changes with every check',
      find: ' and ${isKnown} is not true\n',
      replace: '\n',
      tests: release,
    },
    {
      title: 'an old reason hides that there is no network',
      find: "like 'not checked since %: ' || r.reason",
      replace: "like 'not checked%'",
      tests: release,
    },
    { title: 'a shutdown removes last_error', find: '(r.reason is not null and', replace: '(true and', tests: release },
    {
      title: 'clients do not notice that last_error has changed',
      find: 'then 1 else 0 end`',
      replace: 'then 0 else 0 end`',
      tests: release,
    },
    {
      title: 'only the first overdue monitors are spread',
      find: 'count === spreadBatch && goesOn()',
      replace: 'count > spreadBatch && goesOn()',
      tests: claim,
    },
    { title: 'an engine that is stopped goes on to spread monitors', find: ' && goesOn(); )', replace: '; )', tests: claim },
    {
      title: 'a suspension postpones running checks and monitors that are not overdue',
      find: ".where('next_check_at', '<', sql<Date>`least(${since}::timestamptz, app_now() - interval '5 seconds')`)",
      replace: ".where('next_check_at', 'is not', null).where(sql<boolean>`${since}::timestamptz is not null`)",
      tests: ['test/monitoring/engine/claim.test.ts > a suspension postpones neither'],
    },
    {
      title: 'the spread never ends after the clock of the database was set back',
      find: "least(${since}::timestamptz, app_now() - interval '5 seconds')",
      replace: '${since}::timestamptz',
      tests: claim,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/schedule.ts', tests: record }, [
    {
      title: 'monitors that were created together are checked together',
      find: 'const phase = sql`((m.id * 53377081) % 86400000 / 1000.0)`;',
      replace: 'const phase = sql`0`;',
    },
    { title: 'the next check can be in the past', find: '/ ${seconds}) + 1) * ${seconds}', replace: '/ ${seconds})) * ${seconds}' },
    {
      title: 'overdue monitors of long intervals wait for their next regular check',
      find: 'sql`least(m.interval_seconds, 60)`',
      replace: 'sql`m.interval_seconds`',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/connectivity.ts', tests: connectivity }, [
    {
      title: 'a lost network takes all monitors down',
      find: 'if (!this.isSilent) return result;',
      replace: 'return result;',
    },
    {
      title: 'a broken name stays up for ever',
      find: '(await this.#someHostReplies(claim, reply)) ? Number.NEGATIVE_INFINITY : performance.now()',
      replace: 'performance.now()',
    },
    {
      title: 'other hosts are asked on behalf of monitors that are down',
      find: "if (claim.state.status !== 'down')\n",
      replace: '\n',
    },
    {
      title: 'only a successful check shows that there is a network',
      find: "(result.reply ?? 'now')",
      replace: "'none'",
    },
    {
      title: 'two servers are enough to blame the network',
      find: 'const silentServers = 3;',
      replace: 'const silentServers = 2;',
    },
    {
      title: 'names of one server count as several',
      find: '.map(({ address }) => address).sort()[0] ??',
      replace: '.map(({ address }) => address)[0] ??',
    },
    {
      title: 'the address that the operator has named is not asked',
      find: 'if (address && (await repliesToTcp(address, probeTimeoutMs))) {',
      replace: 'if (false) {',
    },
    {
      title: 'with CONNECTIVITY_CHECK no other host is asked',
      find: 'const compared = await findUp(',
      replace: 'const compared = address ? [] : await findUp(',
    },
    {
      title: 'last_error says at once that there is no network',
      find: 'const outageMs = 60_000;',
      replace: 'const outageMs = 0;',
    },
    {
      title: 'last_error never says that there is no network',
      find: 'const outageMs = 60_000;',
      replace: 'const outageMs = 600_000;',
    },
    {
      title: 'a reply does not end the silence',
      find: 'return this.#silentMs > this.#lastReply.ms;',
      replace: 'return this.#silentMs > 0;',
    },
    {
      title: 'a host that could not be asked counts as a reply',
      find: "if (reply === 'none' || reply === 'not_asked') throw",
      replace: "if (reply === 'none') throw",
    },
    { title: 'checks that fail together ask one by one', find: 'this.#asking ??= this', replace: 'this.#asking = this' },
    {
      title: 'a monitor that was never up counts as a server that became silent',
      find: '...(wasUp && isSilent ? [claim] : [])',
      replace: '...(isSilent ? [claim] : [])',
    },
    {
      title: 'a check that hung counts as a reply when it times out',
      find: "const ms = when === 'now' ? nowMs : startedMs;",
      replace: 'const ms = startedMs > 0 ? nowMs : startedMs;',
    },
    {
      title: 'the date of the last reply is that of the start',
      find: 'at: new Date(Date.now() - (nowMs - ms))',
      replace: 'at: this.#lastReply.at',
    },
    { title: 'a target that was not asked counts as silent', find: 'wasUp && isSilent ?', replace: 'wasUp ?' },
    {
      title: 'hosts that were not asked count as silent',
      find: "if (reply === 'none') silent.push",
      replace: "if (reply !== 'now') silent.push",
    },
    { title: 'a reply while servers are counted does not matter', find: '    if (someReplied()) return true;\n', replace: '' },
    { title: 'a slow lookup delays the judgement', find: 'delay(resolveMs, [])', replace: 'delay(resolveMs * 10, [])' },
    {
      title: 'a new monitor of a known host is compared with few others',
      find: "wasUp ? claim : { ...claim, host: '' }",
      replace: 'claim',
    },
    { title: 'all names without a domain are one server', find: 'getDomain(host) ?? host', replace: "getDomain(host) ?? ''" },
    { title: 'all hosts are asked at once', find: '      await delay(index * nextHostMs);\n', replace: '' },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/compared-monitors.ts', tests: compared }, [
    { title: 'monitors that are down are asked as well', find: "    .where('c.status', '=', sql.lit('up'))\n", replace: '' },
    { title: 'the host of the failed check is asked again', find: "    .where('c.host', '<>', host)\n", replace: '' },
    { title: 'a user with many hosts decides for all others', find: 'partition by c.user_id order', replace: 'order' },
    { title: 'the own monitors do not matter', find: "sql.lit(1000)).as('own')", replace: "sql.lit(0)).as('own')" },
    { title: 'the monitors of others do not matter', find: "sql.lit(2000)).as('soon')", replace: "sql.lit(0)).as('soon')" },
    { title: 'all other hosts are asked', find: '.limit(sql.lit(8))', replace: '.limit(sql.lit(80))' },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/engine.ts', tests: noNetwork }, [
    {
      title: 'without a network, an engine looks for due monitors as often as with one',
      find: 'if (this.#connectivity.isSilent) return pauseOf(silentMs);',
      replace: '',
    },
    {
      title: 'a lost database while other hosts are searched is an internal error',
      find: "error instanceof RetryLaterError ? new LocalFailure('the database is not available') : error",
      replace: 'error',
    },
    {
      title: 'every overdue monitor is checked at once after an outage of the database',
      find: ' || performance.now() - this.#claimedMs > interruptionMs) ',
      replace: ') ',
    },
    {
      title: 'all checks start in one turn of the event loop',
      find: "inTurn('starting', claim.userId, () => outsideTrace(() => this.#startCheck(claim)))",
      replace: 'outsideTrace(() => this.#startCheck(claim))',
      tests: ['test/monitoring/engine/engine.test.ts > other events get their turn'],
    },
    {
      title: 'an engine always seems to have been without a database',
      find: '      this.#claimedMs = performance.now();\n',
      replace: '',
    },
    {
      title: 'every overdue monitor is checked at once when the network is back',
      find: 'if (isNetworkBack || ',
      replace: 'if (',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/engine.ts', tests: localFailures }, [
    {
      title: 'a start checks every overdue monitor at once',
      find: '  #mustSpread = true;\n  /** When',
      replace: '  #mustSpread = false;\n  /** When',
      tests: ['test/monitoring/engine/engine.test.ts > after a start'],
    },
    {
      title: 'every iteration postpones overdue monitors',
      find: '        this.#mustSpread = false;\n',
      replace: '',
      tests: ['test/monitoring/engine/engine.test.ts > measures in seconds'],
    },
    {
      title: 'a check that never ends occupies its slot forever',
      find: 'if (performance.now() > claimedMs + leaseMs(claim)) this.#abandon(',
      replace: 'if (false) this.#abandon(',
      tests: ['test/monitoring/engine/local-failures.test.ts > never ends'],
    },
    {
      title: 'the result of a check that ran while the process was suspended is recorded',
      find: 'Math.max(resumedMs, performance.now() - leaseMs(claim))',
      replace: 'Math.max(resumedMs * 0, performance.now() - leaseMs(claim))',
      tests: ['test/monitoring/engine/local-failures.test.ts > a worker that was suspended'],
    },
    {
      title: 'results that cannot be written are lost',
      find: 'this.#completed.push(...completed);\n        ',
      replace: '',
      tests: engine,
    },
    {
      title: 'an internal error of a check is described to the user',
      find: "new LocalFailure('an internal error')",
      replace: 'new LocalFailure(String(error))',
      tests: ['test/monitoring/engine/local-failures.test.ts > a bug in a check'],
    },
    {
      title: 'the claims of running checks are not released at shutdown',
      find: 'const unfinished = [...[...this.#running.keys()].map((claim) => ({ claim })), ...this.#abandoned.splice(0)];',
      replace: 'const unfinished = this.#abandoned.splice(0);',
      tests: engine,
    },
    {
      title: 'completed checks are not recorded at shutdown',
      find: 'await this.#write(this.#completed.splice(0), unfinished, 0);',
      replace: 'await this.#write([], unfinished, 0);',
      tests: engine,
    },
    {
      title: 'the engine runs more checks at once than its concurrency',
      find: 'this.#deps.concurrency - this.#running.size)',
      replace: 'this.#deps.concurrency)',
      tests: engine,
    },
    {
      title: 'claims that cannot be released during an outage wait until their lease expires',
      find: '        this.#abandoned.push(...abandoned);\n',
      replace: '',
      tests: ['test/monitoring/engine/engine.test.ts > claims of checks that failed locally'],
    },
    {
      title: 'a result that can never be written is written again and again, and nothing else happens',
      find: '      if (error instanceof RetryLaterError) {\n        this.#completed',
      replace: '      if (error) {\n        this.#completed',
      tests: ['test/monitoring/engine/engine.test.ts > can never be written'],
    },
    {
      title: 'a monitor that was claimed before a suspension is checked after it',
      find: '      if (this.#suspension.wasSuspended()) {\n',
      replace: '      if (claims.length < 0) {\n',
      tests: ['test/monitoring/engine/engine.test.ts > during which the process was suspended'],
    },
    {
      title: 'after one suspension every iteration postpones overdue monitors',
      find: '    this.#suspension.acknowledge();\n',
      replace: '',
      tests: ['test/monitoring/engine/engine.test.ts > postpones overdue monitors once'],
    },
    {
      title: 'the claim of a check that ran during a suspension is not released',
      find: 'releaseClaims(query, [...released, ...stale], retryAfterSeconds)',
      replace: 'releaseClaims(query, released, retryAfterSeconds)',
      tests: ['test/monitoring/engine/engine.test.ts > ran during a suspension'],
    },
    {
      title: 'the engine never looks for due monitors after the first 1,000 users',
      find: 'this.#afterUserId = continueAfter;',
      replace: 'this.#afterUserId = 0;',
      tests: ['test/monitoring/engine/engine.test.ts > the last of 1,001 users'],
    },
    {
      title: 'iterations of the engine that fail are not counted',
      find: '      this.#deps.metrics.engineErrors.inc();\n',
      replace: '',
      tests: ['test/monitoring/engine/engine.test.ts > counts every iteration'],
    },
    {
      title: 'the lateness of checks is measured in milliseconds',
      find: 'claim.latenessMs / 1000',
      replace: 'claim.latenessMs',
      tests: ['test/monitoring/engine/engine.test.ts > measures in seconds'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/retention.ts', tests: ['test/monitoring/engine/retention.test.ts'] }, [
    {
      title: 'incidents of the last year are deleted with a short RETENTION_DAYS',
      find: 'Math.max(retentionDays, minIncidentDays)',
      replace: 'retentionDays',
    },
    { title: 'message counts of the running day are deleted', find: 'const messageCountDays = 2;', replace: 'const messageCountDays = 0;' },
    {
      title: 'old statistics are never deleted',
      find: '    emptyExpiredSlots(database, retentionDays),\n',
      replace: '',
    },
    {
      title: 'old incidents are never deleted',
      find: "deletion('Deleting old incidents', deleteIncidents(",
      replace: "deletion('Deleting old incidents', deleteAlerts(",
    },
    {
      title: 'the log of a busy provider grows without a bound',
      find: "    { name: 'Deleting alerts of busy providers', runBatch: deletionOfExcess(database) },\n",
      replace: '',
      tests: ['test/monitoring/engine/retention.test.ts > newest 10,000'],
    },
    {
      title: 'an incident that is open for more than 400 days is deleted',
      find: "where('resolved_at', '<', daysAgo(days))",
      replace: "where('started_at', '<', daysAgo(days))",
      tests: ['test/monitoring/engine/retention.test.ts > keeps an incident that is open'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/statistics/expired-slots.ts', tests: ['test/monitoring/engine/retention.test.ts > the history'] }, [
    {
      title: 'the statistics of days are kept for longer than the API says, if RETENTION_DAYS is greater',
      find: 'Math.min(retentionDays, maxDays)',
      replace: 'retentionDays',
    },
    {
      title: 'the statistics of days are kept for longer than RETENTION_DAYS',
      find: 'Math.min(retentionDays, maxDays)',
      replace: 'maxDays',
    },
    {
      title: 'the statistics of hours are deleted after four weeks',
      find: 'const hoursKeptMs = 35 * dayMs;',
      replace: 'const hoursKeptMs = 28 * dayMs;',
    },
    {
      title: 'checks are deleted after a day',
      find: 'const checksKeptMs = 48 * hourMs;',
      replace: 'const checksKeptMs = 24 * hourMs;',
    },
    {
      title: 'checks are deleted before their hour was rolled up',
      find: 'Math.min(nowMs - checksKeptMs, rolledUntilMs)',
      replace: 'nowMs - checksKeptMs',
    },
    {
      title: 'old statistics stay because one of their partitions is in use',
      find: '    if (hasCode(error, lockNotAvailable)) return false;\n',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/start-engine.ts', tests: ['test/monitoring/engine/start-engine.test.ts'] }, [
    {
      title: 'the service never deletes old statistics, alerts and incidents',
      find: 'startBatchJobs(monitoringDeletions(database, config.retentionDays)',
      replace: 'startBatchJobs([]',
    },
    {
      title: 'statistics are never calculated',
      find: '[rollUp(database), purgeDeletedMonitors(database)]',
      replace: '[purgeDeletedMonitors(database)]',
    },
    {
      title: 'the history of deleted monitors is kept until it has expired',
      find: '[rollUp(database), purgeDeletedMonitors(database)]',
      replace: '[rollUp(database)]',
    },
    {
      title: 'every search for a program that can ping is logged',
      find: 'if (!found && couldPing)',
      replace: 'if (!found)',
      tests: ['test/monitoring/engine/start-engine.test.ts > warns once'],
    },
    {
      title: 'a worker is ready although its loop does not turn',
      find: "if (!engine.isAlive) return 'the loop that runs checks does not turn';",
      replace: '',
    },
    {
      title: 'a worker is ready although its loop that sends alerts does not turn',
      find: "return dispatcher.isAlive ? undefined : 'the loop that sends alerts does not turn';",
      replace: 'return undefined;',
      tests: ['test/monitoring/engine/start-engine.test.ts > stops the loop that sends alerts'],
    },
    {
      title: 'alerts are sent on after a shutdown',
      find: '[engine.stop(), dispatcher.stop(), stopStatistics(), stopRetention()]',
      replace: '[engine.stop(), stopStatistics(), stopRetention()]',
      tests: ['test/monitoring/engine/start-engine.test.ts > stops the loop that sends alerts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/suspension-detector.ts', tests: ['test/monitoring/engine/suspension-detector.test.ts'] }, [
    {
      title: 'a machine that was asleep is not noticed, because only the monotonic clock is read',
      find: 'Math.max(now.monotonicMs - this.#lastTick.monotonicMs, now.wallMs - this.#lastTick.wallMs)',
      replace: '(now.monotonicMs - this.#lastTick.monotonicMs)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/suspended-users.ts', tests: suspended }, [
    {
      title: 'the running check of a user who is suspended is recorded',
      find: '.set({ next_check_at: null, claim_token: null })',
      replace: '.set({ next_check_at: null })',
    },
    {
      title: 'failures from before the suspension of a user count after it',
      find: "case when status = 'down' then failures else 0 end",
      replace: 'failures',
    },
    {
      title: 'a monitor that is down needs a new confirmation after the suspension of its user',
      find: "case when status = 'down' then failures else 0 end",
      replace: '0',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/loop.ts', tests: ['test/monitoring/loop.test.ts'] }, [
    {
      title: 'a process that spreads millions of monitors counts as stuck',
      find: '  goesOn(): boolean {\n    this.#turnedAtMs = performance.now();\n',
      replace: '  goesOn(): boolean {\n',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/wake.ts', tests: ['test/monitoring/engine/wake.test.ts > woken when the lost connection'] }, [
    {
      title: 'the loops sleep on after a lost connection for notifications is back',
      find: 'onReconnect: () => Object.values(loops).forEach((loop) => void loop.wake()),',
      replace: 'onReconnect: () => {},',
    },
    {
      title: 'the loops notice a lost notification only after five minutes',
      find: 'export const defaultMaxSleepMs = 30_000;',
      replace: 'export const defaultMaxSleepMs = 300_000;',
      tests: ['test/monitoring/engine/wake.test.ts > wakes after 30 seconds by default'],
    },
  ]),
];
