import { type Fault, faultsIn } from '../fault.ts';

const config = ['test/config/config.test.ts'];
const alerts = 'alerting rules' as const;
const kubernetes = { tests: ['test/operations/kubernetes.test.ts'], needs: 'embedded' } as const;

export const operationFaults: Fault[] = [
  ...faultsIn({ file: 'src/config/config.ts', tests: config }, [
    {
      title: 'the service listens on all addresses by default',
      find: "({\n  HOST: z.string().default('127.0.0.1')",
      replace: "({\n  HOST: z.string().default('0.0.0.0')",
    },
    {
      title: 'everybody can sign up by default',
      find: "SIGNUP: value.oneOf('open', 'closed').default('closed')",
      replace: "SIGNUP: value.oneOf('open', 'closed').default('open')",
    },
    {
      title: 'the default of RATE_LIMIT_PER_MINUTE is 6,000',
      find: 'value.whole(1, 1_000_000).default(600)',
      replace: 'value.whole(1, 1_000_000).default(6000)',
    },
    {
      title: 'the default of RETENTION_DAYS is 40',
      find: 'value.whole(1, 36_500).default(400)',
      replace: 'value.whole(1, 36_500).default(40)',
    },
    {
      title: 'the default of MAX_MONITORS is 100,000',
      find: 'MAX_MONITORS: value.whole(0, 10_000_000).default(1000)',
      replace: 'MAX_MONITORS: value.whole(0, 10_000_000).default(100_000)',
    },
    {
      title: 'the default of SMS_PER_USER_PER_DAY is 5,000',
      find: 'SMS_PER_USER_PER_DAY: value.whole(0, 1_000_000).default(50)',
      replace: 'SMS_PER_USER_PER_DAY: value.whole(0, 1_000_000).default(5000)',
    },
    {
      title: 'metrics are exposed on all addresses without a token',
      find: 'if (!isLoopback(set.METRICS_HOST) && !set.METRICS_TOKEN) {',
      replace: "if (set.METRICS_HOST === '') {",
    },
    {
      title: 'PostgreSQL is used without SECRET_KEY',
      find: 'if (needsSecretKey && set.DATABASE_URL && !set.SECRET_KEY) {',
      replace: 'if (needsSecretKey && set.DATABASE_URL === undefined && set.MIGRATE_DATABASE_URL === "") {',
    },
    {
      title: 'workers of a cluster get the login of the database owner',
      find: '  delete process.env.MIGRATE_DATABASE_URL;\n',
      replace: '',
      tests: ['test/config/secret-files.test.ts'],
    },
    {
      title: 'a webhook can be on any host of the settings but not on Slack itself',
      find: "slackHosts: ['hooks.slack.com', ...set.SLACK_HOSTS]",
      replace: 'slackHosts: [...set.SLACK_HOSTS]',
    },
  ]),
  ...faultsIn({ file: 'src/config/setting-values.ts', tests: config }, [
    { title: 'a short secret key is accepted', find: '/^[A-Za-z0-9+/]{43}=$/', replace: '/^[A-Za-z0-9+/]{1,43}=*$/' },
    {
      title: 'the password of the owner can have four characters',
      find: 'text.length >= 8 && text.length <= 128',
      replace: 'text.length >= 4 && text.length <= 128',
    },
    { title: 'METRICS_TOKEN can have one character', find: '`^[!-~]{${min},${max}}$`', replace: '`^[!-~]{1,${max}}$`' },
  ]),
  ...faultsIn({ file: 'src/runtime/cluster.ts', tests: ['test/operations/cluster.test.ts > the shutdown'] }, [
    {
      title: 'the primary of a cluster holds the port until all workers have closed it',
      find: '  worker.disconnect();\n',
      replace: '',
      tests: ['test/operations/cluster.test.ts > even if the primary hangs'],
    },
    {
      title: 'a cluster that shuts down reports no metrics',
      find: '  if (cluster.workers) cluster.workers[worker.id] = worker;\n',
      replace: '',
    },
    {
      title: 'workers that are shutting down outlive their primary',
      find: "  process.once('disconnect', () => process.exit());\n",
      replace: '',
    },
    {
      title: 'a worker that is killed during the shutdown goes unnoticed',
      find: 'code ?? (isReady ? 1 : 0)',
      replace: 'code ?? 0',
    },
  ]),
  ...faultsIn({ file: 'src/runtime/serve.ts', tests: ['test/runtime/serve-postgres.test.ts > expired responses'] }, [
    {
      title: 'the service never deletes expired sessions and stored responses',
      find: 'startBatchJobs([expiredRows(database)]',
      replace: 'startBatchJobs([]',
    },
    {
      title: 'the key of the owner is printed although the operator has set it',
      find: '  if (config.owner.apiKey) return;\n',
      replace: '',
      tests: ['test/runtime/serve.test.ts > OWNER_API_KEY'],
      needs: 'embedded',
    },
  ]),
  ...faultsIn({ file: 'src/runtime/serve.ts', tests: ['test/runtime/serve.test.ts > as soon as it listens'], needs: 'embedded' }, [
    {
      title: 'a signal ends a process that has just begun to accept requests',
      find: '  onShutdown(async (reason) => {\n',
      replace: '  await delay(1000);\n  onShutdown(async (reason) => {\n',
    },
  ]),
  ...faultsIn({ file: 'src/config/compile-cache.mjs', tests: ['test/config/compile-cache.test.ts'], needs: 'embedded' }, [
    {
      title: 'compiled code is run from a folder in the working directory',
      find: 'isAbsolute(XDG_CACHE_HOME) ?',
      replace: 'XDG_CACHE_HOME ?',
    },
    { title: 'compiled code is run from a folder of another user', find: ' || found.uid !== process.getuid()', replace: '' },
  ]),
  ...faultsIn({ file: 'src/runtime/shutdown.ts', tests: ['test/runtime/shutdown.test.ts'], needs: 'embedded' }, [
    { title: 'a process that hangs at its shutdown is killed', find: 'const timeoutMs = 9000;', replace: 'const timeoutMs = 90_000;' },
    { title: 'a second signal begins a second shutdown', find: '    if (stopping) return; //', replace: '    //' },
    {
      title: 'a shutdown that failed looks like one that succeeded',
      find: "      log?.error({ err: error }, 'Shutdown failed');\n      process.exit(1);",
      replace: "      log?.error({ err: error }, 'Shutdown failed');\n      process.exit(0);",
    },
    {
      title: 'a shutdown that timed out looks like one that succeeded',
      find: 'exiting with unfinished work`);\n      process.exit(1);',
      replace: 'exiting with unfinished work`);\n      process.exit(0);',
    },
    { title: 'a second Ctrl+C does not end the process', find: "process.once('SIGINT', stop);", replace: "process.on('SIGINT', stop);" },
  ]),
  ...faultsIn({ file: 'src/runtime/open-database.ts', tests: ['test/runtime/open-database.test.ts'], needs: 'embedded' }, [
    {
      title: 'a process whose embedded database has crashed runs on',
      find: '    setTimeout(() => process.exit(1), exitDelayMs);\n',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/runtime/command-service.ts', tests: ['test/operations/operator-commands.test.ts'], needs: 'embedded' }, [
    {
      title: 'a command of another version is executed',
      find: 'if (version !== ownVersion)',
      replace: "if (version === '')",
      tests: ['test/runtime/command-service.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/commands/users.ts', tests: ['test/commands/suspend-user.test.ts'] }, [
    {
      title: 'the checks of a suspended user go on',
      find: '      if (suspended) await query(unscheduleMonitors({ userId }));\n',
      replace: '',
    },
    {
      title: 'the checks of a resumed user do not continue',
      find: 'if (changed && !suspended) await resumeMonitoring(query, userId);',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/commands/keys.ts', tests: ['test/commands/revoke-key.test.ts'] }, [
    { title: 'one of several keys with a prefix is revoked', find: 'if (others.length > 0) {', replace: 'if (others.length > 1000) {' },
  ]),
  ...faultsIn({ file: 'src/db/backup.ts', tests: ['test/operations/backup.test.ts'], needs: 'embedded' }, [
    {
      title: 'a second backup fails with the message of PostgreSQL',
      find: "error.code === '42710' ?",
      replace: "error.code === '00000' ?",
      tests: ['test/operations/backup.test.ts > another one is rejected'],
    },
    {
      title: 'the WAL is kept for ever after a backup was killed',
      find: "from pg_replication_slots where slot_name = '${slot}'`;",
      replace: "from pg_replication_slots where slot_name = 'other'`;",
      tests: ['test/operations/backup.test.ts > keeps no WAL'],
    },
  ]),
  ...faultsIn({ file: 'src/commands/backup.ts', tests: ['test/commands/backup.test.ts'], needs: 'embedded' }, [
    {
      title: 'a backup overwrites a folder that is not empty',
      find: 'if ((await listIfExists(folder)).length > 0) throw',
      replace: 'if ((await listIfExists(folder)).length > 1e6) throw',
    },
    {
      title: 'a backup can be written into the database',
      find: "    if (isInside(folder, join(config.dataDirectory, 'postgres')))",
      replace: "    if (isInside(folder, join(config.dataDirectory, 'nowhere')))",
    },
    {
      title: 'a backup contains the key although it was not asked for',
      find: 'const containsKey = withKey && ',
      replace: 'const containsKey = ',
    },
    {
      title: 'a failed backup leaves its files',
      find: 'if (temporary) await rm(temporary, { recursive: true, force: true });',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'src/telemetry/redact.ts', tests: ['test/telemetry/exposed-keys.test.ts'] }, [
    { title: 'the log contains API keys', find: "    .replace(apiKey, '$1****')\n", replace: '' },
    {
      title: 'the mask of a percent-encoded API key does not tell which one it is',
      find: '(?:_|${percent}5f)',
      replace: '_',
      tests: ['test/telemetry/redact.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/telemetry/log.ts', tests: ['test/http/internal-errors.test.ts > none of its values'] }, [
    {
      title: 'the log contains the values of a failed statement',
      find: 'serializers: { err: plainError },',
      replace: '',
      tests: ['test/telemetry/log.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'deploy/sitekeeper-alerts.yml', check: alerts }, [
    {
      title: 'no alert when checks have stopped for ten minutes',
      find: 'max(sitekeeper_oldest_due_check_seconds{job="sitekeeper"}) > 120 unless',
      replace: 'max(sitekeeper_oldest_due_check_seconds{job="sitekeeper"}) > 1200 unless',
    },
    {
      title: 'an alert that checks have stopped although they only run late',
      find: ' unless sum(increase(sitekeeper_checks_total{job="sitekeeper"}[2m])) > 0',
      replace: '',
    },
    { title: 'no alert for a process that is down', find: 'expr: up{job="sitekeeper"} == 0', replace: 'expr: up{job="sitekeeper"} == 2' },
    {
      title: 'no alert for 5xx responses of less than every second request',
      find: 'status=~"5.."}[5m]))\n          / sum(rate(sitekeeper_request_duration_seconds_count{job="sitekeeper", operation!~"none|testProvider"}[5m])) > 0.01',
      replace:
        'status=~"5.."}[5m]))\n          / sum(rate(sitekeeper_request_duration_seconds_count{job="sitekeeper", operation!~"none|testProvider"}[5m])) > 0.5',
    },
    {
      title: 'an alert for failing provider tests',
      find: '{job="sitekeeper", operation!~"none|testProvider", status=~"5.."}',
      replace: '{job="sitekeeper", operation!~"none", status=~"5.."}',
    },
    {
      title: 'no alert while the database is unavailable',
      find: '!= sitekeeper_oldest_due_check_seconds{job="sitekeeper"}\n        for: 1m',
      replace: '== sitekeeper_oldest_due_check_seconds{job="sitekeeper"} + 1\n        for: 1m',
    },
    {
      title: 'no alert for undelivered alerts',
      find: 'sitekeeper_outbox_oldest_seconds{job="sitekeeper"}) > 900',
      replace: 'sitekeeper_outbox_oldest_seconds{job="sitekeeper"}) > 9000',
    },
    { title: 'an alert for one restart', find: '[15m]) > 2', replace: '[15m]) > 0' },
  ]),
  ...faultsIn({ file: 'deploy/kubernetes/serve.yaml', ...kubernetes }, [
    {
      title: 'a pod stops while proxies still send requests to it',
      find: '          lifecycle:\n            preStop:\n              exec: { command: [sleep, "5"] }\n',
      replace: '',
    },
    {
      title: 'a pod is killed before it has finished its requests',
      find: 'terminationGracePeriodSeconds: 20',
      replace: 'terminationGracePeriodSeconds: 10',
    },
    { title: 'an update stops a pod before the new one is ready', find: 'maxUnavailable: 0', replace: 'maxUnavailable: 1' },
    {
      title: 'a pod whose database is lost is restarted',
      find: 'livenessProbe:\n            httpGet: { path: /healthz,',
      replace: 'livenessProbe:\n            httpGet: { path: /readyz,',
    },
    { title: 'the pods that serve requests also check monitors', find: 'args: [serve, --no-engine]', replace: 'args: [serve]' },
    {
      title: 'a pod gets a token for the API of Kubernetes',
      find: 'automountServiceAccountToken: false',
      replace: 'automountServiceAccountToken: true',
    },
    {
      title: 'a pod can use every system call',
      find: '        seccompProfile: { type: RuntimeDefault }\n',
      replace: '',
    },
    { title: 'other users of a container can read the secrets', find: 'defaultMode: 288', replace: 'defaultMode: 292' },
    { title: 'a pod can use all memory of its node', find: '            limits: { memory: 512Mi }\n', replace: '' },
    { title: 'a pod can write to its image', find: 'readOnlyRootFilesystem: true', replace: 'readOnlyRootFilesystem: false' },
    {
      title: 'all pods that serve requests can be evicted at once',
      find: 'minAvailable: 1',
      replace: 'minAvailable: 0',
    },
  ]),
  ...faultsIn({ file: 'deploy/kubernetes/worker.yaml', ...kubernetes }, [
    {
      title: 'the workers get the key of the owner',
      find: '              - { key: METRICS_TOKEN, path: METRICS_TOKEN }\n',
      replace: '              - { key: METRICS_TOKEN, path: METRICS_TOKEN }\n              - { key: OWNER_API_KEY, path: OWNER_API_KEY }\n',
    },
    { title: 'the workers have all capabilities', find: 'capabilities: { drop: [ALL], add: [NET_RAW] }', replace: 'capabilities: {}' },
  ]),
  ...faultsIn({ file: 'deploy/kubernetes/migrate.yaml', ...kubernetes }, [
    { title: 'the migration can run as root', find: 'runAsNonRoot: true\n        runAsUser: 1000', replace: 'runAsUser: 0' },
  ]),
  ...faultsIn({ file: 'deploy/kubernetes/settings.yaml', ...kubernetes }, [
    { title: 'nobody can reach the metrics and the probes of a worker', find: 'METRICS_HOST: 0.0.0.0', replace: 'METRICS_HOST: 127.0.0.1' },
    {
      title: 'all clients of Kubernetes share the limits of the ingress controller',
      find: '  TRUSTED_PROXIES: "1"\n',
      replace: '',
    },
  ]),
];
