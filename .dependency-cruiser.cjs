// Who may import whom: main → app → websites | monitoring → access → db, net, errors. http sees access, errors and the
// generated contract; the features take from http only types.
const runtime = { dependencyTypesNot: ['type-only'] };

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true, ...runtime } },
    {
      name: 'features-are-strangers',
      comment: 'websites and monitoring never import each other',
      severity: 'error',
      from: { path: '^src/(websites|monitoring)/' },
      to: { path: '^src/(websites|monitoring)/', pathNot: '^src/$1/' },
    },
    {
      name: 'features-know-no-http',
      comment: 'a feature takes types from http, nothing that runs',
      severity: 'error',
      from: { path: '^src/(websites|monitoring|access|db|net)/' },
      to: { path: '^src/http/', ...runtime },
    },
    {
      name: 'koa-lives-in-http',
      comment: 'Koa and openapi-backend stay behind the adapter; app.ts and the mock only put it together',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(http/|app\\.ts$|docs/|mock/)' },
      to: { path: '^node_modules/(koa|@koa/[^/]+|koa-body|openapi-backend)/' },
    },
    {
      name: 'access-knows-no-feature',
      severity: 'error',
      from: { path: '^src/access/' },
      to: { path: '^src/(websites|monitoring|docs|mock|app\\.ts|serve\\.ts|main\\.ts)' },
    },
    {
      name: 'foundations-know-nothing-above',
      comment: 'db, net and errors are what the rest stands on',
      severity: 'error',
      from: { path: '^src/(db/|net/|errors\\.ts)' },
      to: { path: '^src/', pathNot: '^src/(db/|net/|errors\\.ts)' },
    },
    {
      name: 'net-knows-only-errors',
      severity: 'error',
      from: { path: '^src/net/' },
      to: { path: '^src/', pathNot: '^src/(net/|errors\\.ts)' },
    },
    {
      name: 'one-door-to-the-network',
      comment: 'features reach addresses that users name only through src/net',
      severity: 'error',
      from: { path: '^src/(websites|monitoring|access)/' },
      to: { path: '^(http|https|http2|tls|dgram|dns|dns/promises|undici)$', ...runtime },
    },
    {
      name: 'http-knows-no-feature',
      severity: 'error',
      from: { path: '^src/http/' },
      to: { path: '^src/(websites|monitoring|docs|mock|app\\.ts|serve\\.ts|main\\.ts)' },
    },
    {
      name: 'views-and-rules-do-no-io',
      severity: 'error',
      from: { path: '\\.view\\.ts$|/transition\\.ts$|/domain\\.ts$|/line-lists\\.ts$' },
      to: { path: '^src/(db|http|net)/|^(fs|http|https|dns|child_process)', ...runtime },
    },
    {
      name: 'nobody-imports-main',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/start\\.mjs$' },
      to: { path: '^src/main\\.ts$' },
    },
    { name: 'no-tests-in-src', severity: 'error', from: { path: '^src/' }, to: { path: '^test/' } },
    {
      name: 'no-dev-packages-in-src',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-orphans',
      comment: 'what browsers load is served as a file, not imported',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '^src/(start\\.mjs$|docs/browser/)' },
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
