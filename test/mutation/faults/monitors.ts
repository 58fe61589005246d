import { type Fault, faultsIn } from '../fault.ts';

const requestHeaders = ['test/monitoring/checks/request-headers.test.ts'];
const httpOptions = ['test/monitoring/checks/http-options.test.ts'];
const sendHeartbeat = ['test/monitoring/heartbeats/send-heartbeat.test.ts'];
const tlsWarnings = ['test/monitoring/engine/tls-warnings.test.ts'];
const bulk = ['test/monitoring/monitors/bulk.test.ts'];

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
      title: 'a secret that is sent again resets its monitor',
      find: '    if (before && isSameSecret(before, value, monitor, cipher)) return { ...before, name };\n',
      replace: '',
      tests: ['test/monitoring/monitors/http-options.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/http.options.ts', tests: httpOptions }, [
    {
      title: 'turning off verify_tls keeps secret headers',
      find: 'change.isSameOrigin && (merged.verify_tls || !stored.verify_tls)',
      replace: 'change.isSameOrigin',
      tests: requestHeaders,
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/body-conditions.ts', tests: httpOptions }, [
    {
      title: 'a text at the border of two pieces of a body is not found',
      find: 'rest = piece.slice(Math.max(0, piece.length - longest + 1));',
      replace: "rest = '';",
    },
    { title: 'a JSON pointer finds inherited properties', find: 'Object.hasOwn(value, name)', replace: 'name in value' },
    { title: 'JSON of any size is parsed', find: 'if (body.length > maxJsonBytes)', replace: 'if (body.length > 1e9)' },
  ]),
  ...faultsIn({ file: 'src/net/http2.ts', tests: httpOptions }, [
    {
      title: 'HEAD over HTTP/2 is always down',
      find: "hop.method === 'HEAD' || status === 304 ? 0 : ",
      replace: '',
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
      find: '<> interval_seconds or ${startsMaintenance})`',
      replace: '<> interval_seconds)`',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/record-tls-warnings.ts', tests: tlsWarnings }, [
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
    { title: 'there is no warning on the last day', find: 'then 2 else 1 end', replace: 'then 1 else 1 end' },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/schedule.ts', tests: ['test/monitoring/heartbeats/missed-heartbeats.test.ts'] }, [
    {
      title: 'a heartbeat that could not arrive brings its monitor down',
      find: 'case when m.grace_seconds is null then',
      replace: 'case when true then',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/heartbeats/record-heartbeats.ts', tests: sendHeartbeat }, [
    { title: 'a heartbeat brings a paused monitor up', find: '    .filter(({ isActive }) => isActive)\n', replace: '' },
    {
      title: 'heartbeats of a suspended user are accepted',
      find: "    .where(sql<boolean>`not ${isSuspended('m.user_id')}`)\n",
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/http/pipeline.ts', tests: sendHeartbeat }, [
    {
      title: 'unknown tokens can be tried without a limit',
      find: '  await deps.rateLimits.forgetToken(token);\n  return rejectAnonymous(error, ctx, deps);',
      replace: '  throw error;',
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
  ]),
  ...faultsIn({ file: 'src/telemetry/redact.ts', tests: ['test/telemetry/redact.test.ts'] }, [
    { title: 'logs contain the tokens of heartbeats', find: ".replace(heartbeatToken, '$1$2****')", replace: '' },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/bulk.handlers.ts', tests: bulk }, [
    { title: 'a bulk change gives a monitor any number of tags', find: 'const maxTags = 20;', replace: 'const maxTags = 200;' },
    {
      title: 'a bulk change leaves incidents open',
      find: '  await query(...afterReset(changed.map(({ id }) => id)));\n',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/monitors/monitor.settings.ts', tests: ['test/monitoring/monitors/types.test.ts'] }, [
    {
      title: 'options of another type are accepted and dropped',
      find: 'other !== type && optionsIn(body, other)',
      replace: 'other !== type && false && optionsIn(body, other)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/engine/claim.ts', tests: ['test/monitoring/engine/confirmations.test.ts'] }, [
    {
      title: 'every monitor has two confirmations',
      find: "      'm.confirmations',\n",
      replace: "      sql<number>`2`.as('confirmations'),\n",
    },
  ]),
];
