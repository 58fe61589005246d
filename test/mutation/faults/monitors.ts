import { type Fault, faultsIn } from '../fault.ts';

const requestHeaders = ['test/monitoring/checks/request-headers.test.ts'];
const httpOptions = ['test/monitoring/checks/http-options.test.ts'];
const workOfUser = [`${httpOptions} > counts as that of the user`];
const http = ['test/monitoring/checks/http.test.ts'];
const updateMonitor = ['test/monitoring/monitors/update-monitor.test.ts > changes between the read and the write'];
const sendHeartbeat = ['test/monitoring/heartbeats/send-heartbeat.test.ts'];
const tlsWarnings = ['test/monitoring/engine/tls-warnings.test.ts'];
const receiver = ['test/monitoring/heartbeats/receiver.test.ts'];
const missedHeartbeats = ['test/monitoring/heartbeats/missed-heartbeats.test.ts'];
const bulk = ['test/monitoring/monitors/bulk.test.ts'];
const checkMonitor = ['test/monitoring/monitors/check-monitor.test.ts'];
const contradiction = ['test/monitoring/monitors/http-options.test.ts > that contradicts the stored'];

/** Faults in the options of monitors, heartbeats, maintenance and certificate warnings. */
export const monitorFaults: Fault[] = [
  ...faultsIn({ file: 'src/monitoring/checks/http/request-headers.ts', tests: requestHeaders }, [
    {
      title: 'a mask keeps a secret header although the URL has another origin',
      find: 'maskOf(before) === value && mayKeepSecrets && secret !== false',
      replace: 'maskOf(before) === value && secret !== false',
    },
    { title: 'a mask turns a secret header into a plain one', find: 'mayKeepSecrets && secret !== false', replace: 'mayKeepSecrets' },
    {
      title: 'stored secret headers are sent to a new origin',
      find: 'if (!mayKeepSecrets && stored',
      replace: 'if (mayKeepSecrets === undefined && stored',
    },
    { title: 'a check can send any Host', find: "  'host',\n", replace: '' },
    { title: 'the mask of a short secret shows most of it', find: 'secret.length < shortSecret', replace: 'secret.length < 4' },
    {
      title: 'a secret that is sent again keeps the old spelling of its name',
      find: 'cipher)) return { ...before, name };',
      replace: 'cipher)) return before;',
    },
    {
      title: 'a secret that is sent again resets its monitor',
      find: '    if (before && isSameSecret(before, value, monitor, cipher)) return { ...before, name };\n',
      replace: '',
      tests: ['test/monitoring/monitors/http-options.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/request-headers.ts', tests: [`${httpOptions} > no secret headers after a redirect`] }, [
    {
      title: 'a User-Agent that is secret follows a redirect to another origin',
      find: 'headers.filter((header) => maskOf(header) !== undefined)',
      replace: 'headers.filter((header) => maskOf(header) !== undefined && !plainByDefault.has(header.name.toLowerCase()))',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/http.options.ts', tests: httpOptions }, [
    {
      title: 'turning off verify_tls keeps secret headers',
      find: 'change.isSameOrigin && (merged.verify_tls || !stored.verify_tls)',
      replace: 'change.isSameOrigin',
      tests: requestHeaders,
    },
    {
      title: 'a body can have 64 KiB',
      find: 'Buffer.byteLength(body) <= maxBodyBytes',
      replace: 'body.length <= maxBodyBytes',
      tests: ['test/monitoring/monitors/http-options.test.ts > üüü'],
    },
    {
      title: 'a text that must not appear may be a part of the stored text that must',
      find: 'searchErrors({ ...stored, ...sent })',
      replace: 'searchErrors({ ...stored, body_contains: null, ...sent })',
      tests: contradiction,
    },
    {
      title: 'a text that must appear may contain the stored text that must not',
      find: 'searchErrors({ ...stored, ...sent })',
      replace: 'searchErrors({ ...stored, body_not_contains: null, ...sent })',
      tests: contradiction,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/http.check.ts', tests: httpOptions }, [
    {
      title: 'secret headers follow a redirect to another origin',
      find: '      ...sentHeaders,\n',
      replace: '      ...sentHeaders,\n      secretNames: [],\n',
    },
    { title: 'an empty body is not sent', find: '...(options.body !== null && {', replace: '...(options.body && {' },
    {
      title: 'tls_warning_days does not matter',
      find: 'warningDays: options.tls_warning_days',
      replace: 'warningDays: 14',
      tests: ['test/monitoring/checks/http-options.test.ts > false reports tls_warning_days'],
    },
    {
      title: 'a name that cannot be resolved after a redirect counts as no reply',
      find: 'classifyFailure(error, seen.responseTimeMs !== undefined)',
      replace: 'classifyFailure(error)',
      tests: http,
    },
    {
      title: 'the response time ends with the head',
      find: '      seen.responseTimeMs = performance.now() - start;\n      const cause',
      replace: '      const cause',
      tests: http,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/heartbeat/heartbeat.check.ts', tests: ['test/monitoring/checks/heartbeat.test.ts'] }, [
    { title: 'a missed heartbeat counts as a reply', find: "    reply: 'not_asked',\n", replace: '' },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/body-conditions.ts', tests: httpOptions }, [
    {
      title: 'a search forgets the piece before',
      find: 'for (const { search } of searches) search.add(utf8);',
      replace:
        'for (const found of searches) if (!found.search.isFound) (found.search = new TextSearch(Buffer.from(found.text))).add(utf8);',
    },
    {
      title: 'a character at the border of two pieces of a body in another charset is not found',
      find: '{ stream: true }',
      replace: '{}',
    },
    { title: 'a JSON pointer finds inherited properties', find: 'Object.hasOwn(value, name)', replace: 'name in value' },
    {
      title: 'a text that was not searched for to the end is missing or absent',
      find: 'if (isCut && dependsOnRest)',
      replace: 'if (isCut && !dependsOnRest)',
    },
    { title: 'JSON of any size is parsed', find: 'if (body.length > maxJsonBytes)', replace: 'if (body.length > 1e9)' },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/text-search.ts', tests: ['test/monitoring/checks/text-search.test.ts'] }, [
    {
      title: 'the whole text is searched for in a way that may take long',
      find: 'needle.subarray(0, prefixBytes)',
      replace: 'needle.subarray(0)',
    },
    {
      title: 'the last bytes of a piece are not compared',
      find: 'start === -1 ? lastBytes : start',
      replace: 'start === -1 ? 1e9 : start',
    },
    {
      title: 'a text that begins again within a match is not found',
      find: 'if (matched > 0) next.copyWithin(matched * width, shorter * width, (shorter + 1) * width);',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/body-conditions.ts', tests: ['test/monitoring/checks/text-search.test.ts'] }, [
    { title: 'a whole body is searched in one turn', find: 'pieceBytes = 64 * 1024', replace: 'pieceBytes = 1024 * 1024' },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/body-conditions.ts', tests: [`${httpOptions} > the first MiB`] }, [
    {
      title: 'a text that must not appear is searched for only in the first 64 KiB',
      find: 'if (body_contains !== null || body_not_contains !== null) return searchedBytes;',
      replace: 'if (body_contains !== null) return searchedBytes;\n  if (body_not_contains !== null) return 64 * 1024;',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/body-conditions.ts', tests: workOfUser }, [
    {
      title: 'JSON is parsed without waiting for a turn',
      find: "inTurn('searching', userId, () => jsonFailure(body, json))",
      replace: 'jsonFailure(body, json)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/http.check.ts', tests: workOfUser }, [
    {
      title: 'all users share the time in which responses are parsed',
      find: '      userId: target.userId,\n',
      replace: '      userId: 0,\n',
    },
    {
      title: 'all users share the time in which bodies are searched',
      find: 'failureOf(response, target.userId, options)',
      replace: 'failureOf(response, 0, options)',
    },
  ]),
  ...faultsIn({ file: 'src/net/http1.ts', tests: workOfUser }, [
    {
      title: 'all users share the time in which HTTP/1.1 is parsed',
      find: 'feedInPieces(connection.socket, hop.userId,',
      replace: 'feedInPieces(connection.socket, 0,',
    },
  ]),
  ...faultsIn({ file: 'src/net/http2.ts', tests: workOfUser }, [
    {
      title: 'all users share the time in which HTTP/2 is parsed',
      find: 'feedInPieces(socket, hop.userId,',
      replace: 'feedInPieces(socket, 0,',
    },
  ]),
  ...faultsIn({ file: 'src/net/http2.ts', tests: httpOptions }, [
    {
      title: 'HEAD over HTTP/2 is always down',
      find: "hop.method === 'HEAD' || status === 304 ? 0 : ",
      replace: '',
    },
    {
      title: 'it is not known when a certificate expires that is used for HTTP/2',
      find: "{ ...hop, protocol: 'h2' }",
      replace: "{ ...hop, onCertificate: undefined, protocol: 'h2' }",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/transition.ts', tests: ['test/monitoring/engine/transition.test.ts'] }, [
    { title: 'an incident opens during a maintenance', find: '  if (isInMaintenance) return', replace: '  if (!confirmations) return' },
    {
      title: 'an outage that began during a maintenance never opens an incident',
      find: '(state.failures > 0 || isInMaintenance)',
      replace: '(state.failures >= 0 || isInMaintenance)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.writes.ts', tests: ['test/monitoring/engine/maintenance.test.ts'] }, [
    {
      title: 'a check that runs when a maintenance starts opens an incident',
      find: '(${isReset} or ${isOtherPeriod} or ${changesMaintenance})`',
      replace: '(${isReset} or ${isOtherPeriod})`',
    },
    {
      title: 'a check that runs when a maintenance is ended early counts a failure within it',
      find: '(${isReset} or ${isOtherPeriod} or ${changesMaintenance})`',
      replace: '(${isReset} or ${isOtherPeriod} or ${willBeInMaintenance} and ${changesMaintenance})`',
    },
    {
      title: 'a maintenance lets a heartbeat monitor forget how long it has waited',
      find: 'when ${isReset} or ${isOtherPeriod} and grace_seconds is null then ${firstCheck}',
      replace: 'when ${isReset} or ${changesMaintenance} or ${isOtherPeriod} and grace_seconds is null then ${firstCheck}',
      tests: missedHeartbeats,
    },
    {
      title: 'a change of the period lets a heartbeat monitor forget how long it has waited',
      find: '${isOtherPeriod} and grace_seconds is null then',
      replace: '${isOtherPeriod} then',
      tests: missedHeartbeats,
    },
    {
      title: 'a heartbeat that is overdue when a maintenance starts is waited for until the lease of its check ends',
      find: 'case when claim_token is null then next_check_at else app_now() end`;',
      replace: 'next_check_at`;',
      tests: missedHeartbeats,
    },
    {
      title: 'another host without slashes before it keeps the warnings of the first',
      find: ':[/\\\\\\\\]*[^/',
      replace: '://[^/',
      tests: tlsWarnings,
    },
    {
      title: 'another path of a server repeats the warning of its certificate',
      find: "return sql`substring(${url} from '^[^:]*:[/\\\\\\\\]*[^/\\\\\\\\?#]*')`;",
      replace: 'return sql`${url}`;',
      tests: tlsWarnings,
    },
    {
      title: 'a check that runs when a second maintenance starts opens an incident',
      find: 'wasInMaintenance = sql<boolean>`(maintenance_until > app_now() is true)`;',
      replace: 'wasInMaintenance = sql<boolean>`(maintenance_until is not null)`;',
    },
    {
      title: 'failures during a maintenance that is ended early count after it',
      find: 'or ${changesMaintenance} then 0',
      replace: 'or ${willBeInMaintenance} and ${changesMaintenance} then 0',
    },
    {
      title: 'a maintenance that is ended with null goes on for a check that is running',
      find: '(${changed.maintenance_until} > app_now() is true)',
      replace: '(${changed.maintenance_until} > app_now())',
    },
    {
      title: 'a new name of a heartbeat monitor that is down makes it due',
      find: 'case when ${changed.maintenance_until} is distinct from maintenance_until\n    then ',
      replace: 'case when true\n    then ',
      tests: missedHeartbeats,
    },
    {
      title: 'the certificate of a new target is not warned of if it expires before that of the old one',
      find: '    tls_warned_expiry: sql<Date>`case when ${isOtherServer} then null else tls_warned_expiry end`,\n',
      replace: '',
      tests: tlsWarnings,
    },
    {
      title: 'a bulk change does not extend a maintenance',
      find: 'case when ${time} > app_now() then ${time} end',
      replace: 'case when ${time} > app_now() then app_now() end',
      tests: bulk,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/record.ts', tests: missedHeartbeats }, [
    {
      title: 'a maintenance that ends while a result is recorded hides the outage',
      find: "coalesce(${endOfMaintenance}, case when r.status = 'down' and r.failures = 0 then app_now() end)",
      replace: '${endOfMaintenance}',
    },
    {
      title: 'a heartbeat that is missed during a maintenance never causes an alert',
      find: "then coalesce(${endOfMaintenance}, case when r.status = 'down' and r.failures = 0 then app_now() end)",
      replace: 'then null',
    },
    {
      title: 'a refused connection erases when the certificate expires',
      find: 'coalesce(r.tls_expires_at, m.tls_expires_at)',
      replace: 'r.tls_expires_at',
      tests: tlsWarnings,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/record.ts', tests: ['test/monitoring/engine/maintenance.test.ts'] }, [
    {
      title: 'an incident after a maintenance starts at a failure within it',
      find: 'case when r.failures = 0 then null when r.failures = 1 then ${checkedAt} else m.first_failed_at end',
      replace: "case when r.status = 'up' then null else coalesce(m.first_failed_at, ${checkedAt}) end",
    },
    {
      title: 'the cause of an incident after a maintenance is that of a failure within it',
      find: 'case when r.failures = 0 then null when r.failures = 1 then r.cause else m.first_cause end',
      replace: "case when r.status = 'up' then null else coalesce(m.first_cause, r.cause) end",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/record-tls-warnings.ts', tests: tlsWarnings }, [
    { title: 'a disabled assignment uses up the warning', find: ' and n.enabled)`;', replace: ')`;' },
    {
      title: 'a maintenance that is over prevents warnings of certificates',
      find: 'm.maintenance_until > app_now() is not true',
      replace: 'm.maintenance_until is null',
    },
    {
      title: 'a target that shows a new certificate with every check causes a warning with every check',
      find: "\n    and m.tls_warned_at > app_now() - interval '20 hours' is not true",
      replace: '',
    },
    {
      title: 'certificates are warned of during a maintenance',
      find: ' and m.maintenance_until > app_now() is not true',
      replace: '',
    },
    {
      title: 'a warning that nobody gets counts as sent',
      find: 'case when ${hasProvider} then ${dueWarnings} else 0 end',
      replace: '${dueWarnings}',
    },
    {
      title: 'warnings of certificates begin at least 14 days before',
      find: "app_now() + ${warningDays} * interval '1 day'",
      replace: "app_now() + greatest(${warningDays}, 14) * interval '1 day'",
    },
    {
      title: 'warnings of certificates begin 14 days before, whatever the option is',
      find: "app_now() + ${warningDays} * interval '1 day'",
      replace: "app_now() + 14 * interval '1 day'",
    },
    {
      title: 'a certificate that replaces one with a later end is warned of two days before',
      find: "between app_now() and app_now() + interval '1 day'",
      replace: "between app_now() and app_now() + interval '2 days'",
    },
    { title: 'there is no warning on the last day', find: 'then 2 else 1 end', replace: 'then 1 else 1 end' },
    {
      title: 'the warning of the last day comes after the certificate has expired',
      find: "interval '1 day' then 2",
      replace: "interval '0 days' then 2",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/schedule.ts', tests: missedHeartbeats }, [
    {
      title: 'a heartbeat that could not arrive brings its monitor down',
      find: "m.grace_seconds is not null and m.status <> 'down' then",
      replace: 'false then',
    },
    {
      title: 'a heartbeat monitor that is down after a maintenance is checked again and again',
      find: 'case when m.maintenance_until > app_now() then m.maintenance_until end',
      replace: 'm.maintenance_until',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/heartbeats/record-heartbeats.ts', tests: sendHeartbeat }, [
    { title: 'a heartbeat brings a paused monitor up', find: '    .filter(({ isActive }) => isActive)\n', replace: '' },
    {
      title: 'heartbeats of a suspended user are accepted',
      find: "    .where(sql<boolean>`not ${isSuspended('m.user_id')}`)\n",
      replace: '',
    },
    {
      title: 'a failure that is reported after a maintenance opens no incident',
      find: 'coalesce(m.maintenance_until > app_now(), false)',
      replace: 'm.maintenance_until is not null',
    },
    {
      title: 'an incident that opens while a heartbeat is recorded stays open',
      find: "    .orderBy('m.id')\n    .forUpdate(),",
      replace: "    .orderBy('m.id'),",
      tests: receiver,
    },
    {
      title: 'a failure that is reported during a maintenance never causes an alert',
      find: "case when r.status = 'down' then ${endOfMaintenance} else",
      replace: "case when r.status = 'down' then null else",
      tests: missedHeartbeats,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/heartbeats/record-heartbeats.ts', tests: sendHeartbeat }, [
    {
      title: 'the incident of a job has the status code of the http monitor that it was before',
      find: 'first_status_code: null',
      replace: 'first_status_code: sql`m.first_status_code`',
      tests: ['test/monitoring/monitors/types.test.ts > has no status code'],
    },
    {
      title: 'a heartbeat creates no new state of its monitor',
      find: 'sql`m.state_version + 1`',
      replace: "sql`case when r.status = 'up' then m.state_version else m.state_version + 1 end`",
    },
    {
      title: 'a reported failure creates no new state of its monitor',
      find: 'sql`m.state_version + 1`',
      replace: "sql`case when r.status = 'down' then m.state_version else m.state_version + 1 end`",
    },
    {
      title: 'a reported failure is not the time of the last check',
      find: 'last_checked_at: sql`app_now()`',
      replace: "last_checked_at: sql`case when r.status = 'down' then m.last_checked_at else app_now() end`",
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/heartbeat/heartbeat.options.ts', tests: ['test/monitoring/checks/heartbeat.test.ts'] }, [
    { title: 'tokens of heartbeats have no lower-case letters', find: 'randomInt(alphabet.length)', replace: 'randomInt(36)' },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/ping/ping.check.ts', tests: ['test/monitoring/checks/ping.test.ts'] }, [
    {
      title: 'a ping waits 10 seconds for DNS, whatever its timeout is',
      find: 'new Deadline(timeoutSeconds * 1000)',
      replace: 'new Deadline(10_000)',
    },
  ]),
  ...faultsIn(
    {
      file: 'src/monitoring/engine/record.ts',
      tests: ['test/monitoring/engine/changed-during-check.test.ts > a maintenance that started'],
    },
    [
      {
        title: 'a result that is dropped because a maintenance has started counts',
        find: 'const accepted = rows.filter(({ token }) => tokens.has(token));',
        replace: 'const accepted = rows;',
      },
    ],
  ),
  ...faultsIn({ file: 'src/monitoring/engine/engine.ts', tests: ['test/monitoring/engine/manual-check.test.ts'] }, [
    { title: 'a result shows two seconds after its check', find: 'const quietMs = 500;', replace: 'const quietMs = 2000;' },
  ]),
  ...faultsIn({ file: 'src/monitoring/heartbeats/receiver.ts', tests: receiver }, [
    { title: 'each heartbeat is written alone', find: '      await nextTurn();\n', replace: '' },
    {
      title: 'a heartbeat is confirmed before it is stored',
      find: '      const batch = this.#takeBatch();\n',
      replace: '      const batch = this.#takeBatch();\n      for (const { settle } of batch) settle.resolve(undefined);\n',
    },
  ]),
  ...faultsIn({ file: 'src/http/pipeline.ts', tests: sendHeartbeat }, [
    {
      title: 'unknown tokens can be tried without a limit',
      find: '  if (!isClientError(error)) throw error;\n  if (error.code',
      replace: '  throw error;\n  if (error.code',
    },
    {
      title: 'each unknown token has a counter of its own',
      find: "  if (error.code === 'not_found') await deps.rateLimits.forgetToken(token);\n",
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.view.ts', tests: sendHeartbeat }, [
    {
      title: 'whoever can read a monitor sees where its heartbeats are sent',
      find: "  if (!caller.scopes.has('monitors:write')) return null;\n",
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/secret-rotation.ts', tests: ['test/monitoring/secret-rotation.test.ts'] }, [
    { title: 'a new key does not encrypt request headers', find: "  { table: 'monitors', secrets: headers },\n", replace: '' },
    {
      title: 'a new key does not encrypt the tokens of heartbeats',
      find: "  { table: 'monitors', secrets: fieldsOfSettings },\n",
      replace: '',
    },
    {
      title: 'a new key does not encrypt all headers of a monitor whose headers are in two batches',
      find: '(id, s.field) > (${given.id}::bigint, ${given.field}::text)',
      replace: 'id > ${given.id}::bigint',
    },
  ]),
  ...faultsIn({ file: 'src/telemetry/redact.ts', tests: ['test/telemetry/redact.test.ts'] }, [
    { title: 'logs contain parts of the tokens of heartbeats', find: "    .replace(heartbeatToken, '$1****')\n", replace: '' },
    {
      title: 'logs contain the tokens of heartbeats in mistyped paths',
      find: "canBeToken(found) ? '****' : found",
      replace: 'found',
    },
    {
      title: 'logs contain no trace IDs',
      find: '/[a-z]/.test(decoded) && /[A-Z]/.test(decoded) && ',
      replace: '',
    },
    {
      title: 'redacting breaks the JSON of a line',
      find: 'const escapeOrRun = new RegExp(`\\\\\\\\(?:u[0-9a-f]{4}|.)|',
      replace: 'const escapeOrRun = new RegExp(`',
    },
    {
      title: 'redacting breaks the percent-encoding of a path',
      find: '${character}+|${percent}[0-9a-f]{2}`',
      replace: '${character}+`',
    },
    {
      title: 'redacting a signature breaks the percent-encoding of a path',
      find: '|${percent}[0-9a-f]{2}|[',
      replace: '|[',
      tests: ['test/telemetry/redact.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/bulk.handlers.ts', tests: bulk }, [
    { title: 'a bulk change gives a monitor any number of tags', find: 'const maxTags = 20;', replace: 'const maxTags = 200;' },
    {
      title: 'a bulk change starts a maintenance that is already over',
      find: 'futureTimeError(new Date(until), nowMs)',
      replace: 'futureTimeError(new Date(until), 0)',
    },
    {
      title: 'a bulk change leaves incidents open',
      find: '      await query(statement);\n',
      replace: '',
    },
    {
      title: 'a bulk change does not wake the engine',
      find: 'of afterReset(portion)) {',
      replace: 'of afterReset(portion).slice(0, 3)) {',
      tests: ['test/monitoring/engine/wake.test.ts > resumes many monitors'],
    },
    { title: 'a bulk change changes all monitors at once', find: 'const changedAtOnce = 50;', replace: 'const changedAtOnce = 5000;' },
    { title: 'a bulk change changes only the first monitors', find: 'start += size) {', replace: 'start += ids.length) {' },
    { title: 'a bulk change finds only the first 500 monitors', find: 'count === lockedAtOnce; )', replace: 'count < 0; )' },
    {
      title: 'nobody else has a turn during a bulk change',
      find: '    await work(ids.slice(start, start + size));\n    await nextTurn();\n',
      replace: '    await work(ids.slice(start, start + size));\n',
      needs: 'embedded', // A server gives turns by itself, while a statement runs there.
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.settings.ts', tests: updateMonitor }, [
    {
      title: 'a change of an option undoes that of another option at the same time',
      find: '    seenSettings: JSON.stringify(seen.settings),\n',
      replace: '    seenSettings: undefined as never,\n',
    },
    {
      title: 'a change of an option undoes that of the url at the same time',
      find: '...(body.url === undefined && { seenUrl: seen.url ?? null })',
      replace: '...({})',
    },
  ]),
  ...faultsIn(
    { file: 'src/monitoring/monitors/monitors.handlers.ts', tests: ['test/monitoring/monitors/http-options.test.ts > is well-formed'] },
    [
      {
        title: 'the summary of a check ends with half a character',
        find: '.slice(0, maxSummary).toWellFormed()',
        replace: '.slice(0, maxSummary)',
      },
    ],
  ),
  ...faultsIn({ file: 'src/monitoring/monitors/monitors.handlers.ts', tests: checkMonitor }, [
    {
      title: 'a monitor can be checked manually every 5 seconds',
      find: "limiters.create('check-now', 1, 10)",
      replace: "limiters.create('check-now', 1, 5)",
    },
    {
      title: 'a manual check of a monitor that has just been paused is tried again and again',
      find: 'if (isRetry) requireCheckable(await readMonitor(db, id));',
      replace: 'if (isRetry) await readMonitor(db, id);',
    },
    {
      title: 'a manual check of a monitor that has just been deleted is tried again and again',
      find: 'if (isRetry) requireCheckable(await readMonitor(db, id));',
      replace: '',
      tests: ['test/monitoring/monitors/check-monitor.test.ts > 404 for a monitor that is deleted'],
    },
  ]),
  ...faultsIn({ file: 'src/docs/recipes.ts', tests: ['test/docs/recipes.test.ts'] }, [
    {
      title: 'there is no recipe for a GraphQL endpoint',
      find: '    after: [],\n  },\n];',
      replace: "    after: [],\n  },\n].filter(({ id }) => id !== 'graphql');",
    },
    {
      title: 'the recipe of an API does not store its token as a secret',
      find: "value: 'Bearer example-token-0123456789' }",
      replace: "value: 'Bearer example-token-0123456789', secret: false }",
    },
    {
      title: 'no monitor of the recipes has the tag that the page changes',
      find: ", tags: ['production'] }",
      replace: ' }',
    },
  ]),
  ...faultsIn({ file: 'src/docs/recipes.ts' }, [
    {
      title: 'the recipe of a cron job sends a heartbeat although the job has failed',
      find: 'send-invoices && $CURL',
      replace: 'send-invoices; $CURL',
      tests: ['test/docs/recipes.test.ts > the line of the crontab'],
    },
    {
      title: 'the recipe of a cron job requests another path',
      find: '`HEARTBEAT=${url}/api/heartbeats/',
      replace: '`HEARTBEAT=${url}/api/heartbeat/',
      tests: ['test/docs/recipes.test.ts > the line of the crontab'],
    },
    {
      title: 'the recipe of a backup job reports a failure as a success',
      find: '"$heartbeat/fail"',
      replace: '"$heartbeat"',
      tests: ['test/docs/recipes.test.ts > the script of the backup job'],
    },
  ]),
  ...faultsIn({ file: 'src/docs/recipes.page.ts', tests: ['test/docs/recipes.test.ts > every command of the page'] }, [
    { title: 'the command of the page for many monitors has another path', find: '/api/monitors/bulk', replace: '/api/monitors/many' },
    { title: 'the command of the page for a maintenance has no method', find: 'curl -X PUT ', replace: 'curl ' },
    {
      title: 'the commands of the page that create monitors have no Content-Type',
      find: 'return `curl ${publicUrl}/api/monitors \\\\\n  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json"',
      replace: 'return `curl ${publicUrl}/api/monitors \\\\\n  -H "Authorization: Bearer $KEY"',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.settings.ts', tests: ['test/monitoring/monitors/types.test.ts'] }, [
    {
      title: 'options of another type are accepted and dropped',
      find: 'other !== type && optionsIn(body, other)',
      replace: 'other !== type && false && optionsIn(body, other)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.settings.ts', tests: ['test/monitoring/monitors/types.test.ts > confirmations'] }, [
    {
      title: 'the confirmations that come with another kind of type are ignored',
      find: 'changesKind && body.confirmations === undefined && {',
      replace: 'changesKind && {',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/heartbeat/heartbeat.options.ts' }, [
    {
      title: 'empty options of a heartbeat monitor remove its grace period',
      find: '{ ...withDefaults(stored), ...sent }',
      replace: '{ ...withDefaults({ ...stored, grace_seconds: defaults.grace_seconds }), ...sent }',
      tests: ['test/monitoring/monitors/types.test.ts > grace period'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.writes.ts' }, [
    {
      title: 'a ping monitor keeps the certificate of the https monitor that it was',
      find: "`(${originOf(changed.url)}, ${changed.type}) is distinct from (${originOf(sql.ref('url'))}, type)`",
      replace: "`(${originOf(changed.url)}) is distinct from (${originOf(sql.ref('url'))})`",
      tests: ['test/monitoring/engine/tls-warnings.test.ts > forgets the certificate'],
    },
    {
      title: 'a longer interval postpones a check that was due soon',
      find: 'when ${isReset} or ${isOtherPeriod} and grace_seconds is null then ${firstCheck}',
      replace: 'when ${isReset} then ${firstCheck}',
      tests: ['test/monitoring/monitors/update-monitor.test.ts > longer interval'],
    },
    {
      title: 'another period gives a heartbeat monitor that is down a turn',
      find: '`(not ${isReset} and is_active',
      replace: '`(not ${isReset} and not ${isOtherPeriod} and is_active',
      tests: ['test/monitoring/heartbeats/missed-heartbeats.test.ts > no turn'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/claim.ts', tests: ['test/monitoring/engine/confirmations.test.ts'] }, [
    {
      title: 'failures during a maintenance count after it',
      find: '${hasExpired} or ${beganInMaintenance} then 0',
      replace: '${hasExpired} then 0',
      tests: ['test/monitoring/engine/maintenance.test.ts'],
    },
    {
      title: 'every monitor has two confirmations',
      find: "      'm.confirmations',\n",
      replace: "      sql<number>`2`.as('confirmations'),\n",
    },
  ]),
];
