// The recipes of the page "What can be monitored". The tests create the monitor of each one.

export interface Recipe {
  id: string;
  title: string;
  /** Paragraphs above the sample. Text in `backticks` becomes code, as in `after`. */
  before: string[];
  /** The body that creates the monitor. */
  monitor: Record<string, unknown>;
  /** Paragraphs below the sample. */
  after: string[];
  /** What runs on your side, such as a line of a crontab. */
  script?: (url: string) => string;
}

export const recipes: Recipe[] = [
  {
    id: 'login-page',
    title: 'A login page',
    before: ['A page can respond with 200 and still be broken. Specify text that appears only on the working page:'],
    monitor: { friendly_name: 'Login page', url: 'https://shop.example.org/login', http: { body_contains: 'Forgot your password?' } },
    after: [
      'The search is case-sensitive and covers the first MiB of the page. With `body_not_contains`, the text must not appear, such as ' +
        '`Internal error`. For a page that redirects on purpose, set `follow_redirects` to false and `expected_status` to `["302"]`.',
    ],
  },
  {
    id: 'api-with-token',
    title: 'An API with a token',
    before: ['Send a header with the token, and compare a value of the JSON that the API returns:'],
    monitor: {
      friendly_name: 'Orders API',
      url: 'https://api.example.org/orders/health',
      http: {
        headers: [{ name: 'Authorization', value: 'Bearer example-token-0123456789' }],
        json: { pointer: '/status', equals: 'ok' },
      },
    },
    after: [
      'The value of the header is stored encrypted, and responses contain only a mask. It is never sent to another origin: a redirect ' +
        'does not take it there, and a new `url` of another origin is accepted only together with the full value. If a header is not secret, add `"secret": false`.',
      '`pointer` is a JSON pointer: `/checks/0/state` is the field `state` of the first item of `checks`. The document can be up to 128 KiB long.',
    ],
  },
  {
    id: 'graphql',
    title: 'A GraphQL endpoint',
    before: ['GraphQL returns 200 even if a query fails. Send a query, and compare a value of its result:'],
    monitor: {
      friendly_name: 'GraphQL',
      url: 'https://api.example.org/graphql',
      http: {
        method: 'POST',
        headers: [{ name: 'Content-Type', value: 'application/json' }],
        body: '{"query":"{ health { ok } }"}',
        json: { pointer: '/data/health/ok', equals: true },
      },
    },
    after: [
      'The body is stored and returned as it is, so put secrets into headers. Use a query that changes nothing: it is sent every minute.',
    ],
  },
  {
    id: 'certificate',
    title: 'A certificate',
    before: [
      'An https monitor goes down when its certificate has expired. To be warned before, you need nothing more than a provider: by default, its ' +
        'alerts include a warning 14 days before, and another one a day before. Choose when:',
    ],
    monitor: { friendly_name: 'Shop', url: 'https://shop.example.org/', interval: 3600, http: { tls_warning_days: 30 } },
    after: [
      '`tls_expires_at` of the monitor tells when the certificate expires. `"tls_warning_days": null` turns the warnings off. A server with a ' +
        'self-signed certificate needs `"verify_tls": false`. Then an expired one is accepted as well, but you are still warned. Checks ' +
        'read the certificate, so a new monitor may need up to one `interval` to send its first warning.',
    ],
  },
  {
    id: 'database-port',
    title: 'A database port',
    before: ['A TCP monitor is up while its port accepts connections. Nothing is sent:'],
    monitor: { friendly_name: 'Orders database', url: 'tcp://db.example.org:5432', type: 'tcp', tags: ['production'] },
    after: [
      'The monitor is also up if something other than your database listens on the port. Only public addresses can be checked, unless the operator allows others with `NET_ALLOW`.',
    ],
  },
  {
    id: 'cron-job',
    title: 'A cron job',
    before: [
      'A heartbeat monitor waits for your job instead of calling it. If no heartbeat comes for `interval` plus `grace_seconds`, the monitor goes down:',
    ],
    monitor: { friendly_name: 'Invoices', type: 'heartbeat', interval: 3600, heartbeat: { grace_seconds: 300 } },
    after: [
      'The response contains `heartbeat_url`. It needs no key, so treat it like a password. The monitor begins to wait when it is created. Request ' +
        'the URL at the end of the job, in any way: GET, HEAD or POST. Let the job repeat a request that fails, because the service may be restarting. ' +
        '`interval` and `grace_seconds` are at most a day each, so a job must run at least every other day. In a crontab:',
    ],
    script: (url) => `HEARTBEAT=${url}/api/heartbeats/YOUR-TOKEN
CURL=curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null
0 * * * * /usr/local/bin/send-invoices && $CURL $HEARTBEAT`,
  },
  {
    id: 'backup-job',
    title: 'A backup job',
    before: ['A job that knows that it has failed can say so. The monitor then goes down at once, without waiting for the grace period:'],
    monitor: { friendly_name: 'Nightly backup', type: 'heartbeat', interval: 86_400, heartbeat: { grace_seconds: 3600 } },
    after: ['The next heartbeat brings it up again:'],
    script: (url) => `#!/bin/sh
heartbeat=${url}/api/heartbeats/YOUR-TOKEN
if pg_dump --format=custom --file=/backup/shop.dump shop; then
  curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null "$heartbeat"
else
  curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null "$heartbeat/fail"
  exit 1
fi`,
  },
  {
    id: 'host',
    title: 'A host',
    before: ['A ping monitor sends 3 echo requests. One reply is enough:'],
    monitor: { friendly_name: 'Office router', url: 'router.example.org', type: 'ping', interval: 300, confirmations: 1 },
    after: [],
  },
];
