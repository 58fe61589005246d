// Which folder may import which, from top to bottom:
//   cli → runtime → app, commands → pages → features (websites, monitoring, accounts, docs, mock) → http, auth, limits → db, net, telemetry, config → errors
const runtimeImport = { dependencyTypesNot: ['type-only'] };
const features = 'websites|monitoring|accounts|docs|mock';

/** `from` may import nothing below src/ except `to` and itself. */
const layer = (from, to, comment) => ({
  name: `${from.match(/\w+/)}-imports`,
  comment,
  severity: 'error',
  from: { path: `^src/(${from})` },
  to: { path: '^src/', pathNot: `^src/(${[from, ...to].join('|')})` },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true, ...runtimeImport } },

    layer('errors\\.ts$', [], 'errors.ts is the bottom layer'),
    layer(
      'db/',
      ['telemetry/tracing\\.ts$', 'errors\\.ts$', 'config/postgres-url\\.ts$'],
      'the data layer depends on no feature and no HTTP code, and of config/ only on the format of its URL',
    ),
    layer(
      'net/',
      ['telemetry/tracing\\.ts$', 'errors\\.ts$', 'config/program-environment\\.ts$'],
      'net/ depends on nothing else, and of config/ only on the environment of the programs that it runs',
    ),
    layer('config/', ['errors\\.ts$', 'auth/api-key\\.ts$'], 'OWNER_API_KEY has the format of a key, which auth/api-key.ts defines'),
    layer('telemetry/', ['config/', 'errors\\.ts$'], 'telemetry gets what it measures as parameters'),
    layer('limits/', ['db/', 'errors\\.ts$'], 'limits depend neither on auth nor on HTTP'),
    layer('auth/', ['limits/', 'db/', 'errors\\.ts$'], 'auth is shared by HTTP and the command line'),
    layer(
      'http/',
      ['auth/', 'limits/', 'telemetry/', 'errors\\.ts$'],
      'http/ depends neither on the database nor on a feature; app.ts passes them in',
    ),
    layer(
      'app\\.ts$',
      ['pages/', features, 'http/', 'auth/', 'limits/', 'db/', 'net/', 'telemetry/', 'config/', 'errors\\.ts$'],
      'the command line and the processes are above the app',
    ),
    layer(
      'pages/',
      ['docs/', 'monitoring/', 'http/', 'limits/', 'errors\\.ts$'],
      'the pages that links in mails open look like the docs, and show what features do',
    ),
    layer(
      'commands/',
      ['accounts/', 'monitoring/', 'auth/', 'db/', 'config/', 'errors\\.ts$'],
      'operator commands run in a process of their own or in the service, and know neither the command line nor the socket',
    ),
    {
      name: 'features-are-independent',
      comment: 'app.ts passes dependencies between features',
      severity: 'error',
      from: { path: `^src/(${features})/` },
      to: { path: `^src/(${features})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'features-import-nothing-above',
      severity: 'error',
      from: { path: `^src/(${features})/` },
      to: { path: '^src/(cli|runtime|commands)/|^src/(app|entities)\\.ts$' },
    },
    {
      name: 'handlers-know-no-http',
      comment: 'features import types from http/, and the pure functions of paging.ts; docs and mock are HTTP themselves',
      severity: 'error',
      from: { path: '^src/(websites|monitoring|accounts)/' },
      to: { path: '^src/http/', pathNot: '^src/http/paging\\.ts$', ...runtimeImport },
    },
    {
      name: 'only-runtime-imports-the-app',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/runtime/' },
      to: { path: '^src/(app|entities)\\.ts$' },
    },
    {
      name: 'only-cli-and-runtime-import-commands',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|runtime|commands)/' },
      to: { path: '^src/commands/' },
    },
    {
      name: 'only-cli-imports-runtime',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|runtime)/' },
      to: { path: '^src/runtime/' },
    },
    { name: 'nothing-imports-the-cli', severity: 'error', from: { path: '^src/', pathNot: '^src/cli/' }, to: { path: '^src/cli/' } },
    {
      name: 'small-commands-load-no-koa',
      comment: 'commands such as "user add" start fast, because they load no HTTP code, not even indirectly',
      severity: 'error',
      from: { path: '^src/cli/(user|key|migrate|move|backup|secrets)\\.ts$' },
      to: { path: '^src/http/|(^|/)node_modules/koa/', reachable: true },
    },
    {
      name: 'koa-stays-in-http',
      comment: 'app.ts assembles the application; docs, pages and mock contain middleware',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(http/|app\\.ts$|docs/|pages/|mock/)' },
      to: { path: '(^|/)node_modules/(koa|@koa/[^/]+|koa-body|openapi-backend)/' },
    },
    {
      name: 'views-do-no-io',
      comment: 'views, message texts, transitions and rules are pure',
      severity: 'error',
      from: { path: '\\.view\\.ts$|^src/monitoring/messages/|-message\\.ts$|/(transition|domain|line-lists|paging)\\.ts$' },
      to: { path: '^src/(db|http|net|telemetry)/|^(fs|http|https|dns|child_process)', ...runtimeImport },
    },

    // Connections to addresses that users supply go through net/, which checks the address. biome.json adds two rules that need
    // names: only isIP, isIPv4 and isIPv6 can be imported from node:net, and the global fetch is forbidden.
    {
      name: 'only-net-opens-connections',
      comment: 'http/server.ts and http/port.ts listen; they open no connection to another host',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(net/|http/(server|port)\\.ts$)' },
      to: { path: '^(http|https|http2|tls|dgram|dns|dns/promises|child_process|undici)$', ...runtimeImport },
    },
    {
      name: 'only-net-imports-network-clients',
      comment: 'config/ uses the address parser of nodemailer',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/net/' },
      to: { path: '(^|/)node_modules/(nodemailer/(?!.*addressparser)|undici/)', ...runtimeImport },
    },
    {
      name: 'clients-of-the-operators-servers',
      comment: 'the database, Redis and the trace collector have addresses that the operator sets, each client in one folder',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(db|limits|telemetry)/' },
      to: { path: '(^|/)node_modules/(pg|ioredis|@opentelemetry/exporter[^/]*)/', ...runtimeImport },
    },

    { name: 'no-tests-in-src', severity: 'error', from: { path: '^src/' }, to: { path: '^test/' } },
    {
      name: 'no-dev-packages-in-src',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'service-runs-without-prism',
      comment: 'only the mock needs Prism, which operators do not install',
      severity: 'error',
      from: { path: '^src/runtime/(serve|worker)\\.ts$' },
      to: { path: '(^|/)node_modules/@stoplight/', reachable: true },
    },
    {
      name: 'no-orphans',
      comment: 'browsers load docs/browser as files, bin.mjs is the entry point, and type declarations are not imported',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '^src/(cli/bin\\.mjs$|docs/browser/)|\\.d\\.ts$' },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
