// The steps of the getting-started page. The tests in test/browser run every sample.

export const languages = [
  { id: 'curl', name: 'curl', caption: 'Run in a shell' },
  { id: 'typescript', name: 'TypeScript', caption: 'Save as first.mts, then run: node first.mts' },
  { id: 'python', name: 'Python', caption: 'Save as first.py, then run: python3 first.py' },
] as const;

export interface Step {
  id: string;
  title: string;
  /** Paragraphs above the sample. Text in `backticks` becomes code, as in `after`. */
  before: string[];
  samples: Record<(typeof languages)[number]['id'], string>;
  /** Paragraphs below the sample. */
  after: string[];
}

export const createSteps = (url: string): Step[] => [
  createKeyStep(url),
  createWebsiteStep(url),
  createMonitorStep(url),
  createAlertStep(url),
];

const createKeyStep = (url: string): Step => ({
  id: 'first-key',
  title: 'Create an API key',
  before: [
    'When the service starts for the first time, it prints an API key. It is shown only once. Set it as an environment variable with `export KEY=stkp_…`: ' +
      'every sample reads it from there. If someone else operates the service, ask them for a key, or sign in above and create one in the ' +
      'monitoring reference.',
    'The first key has all scopes. Create a separate key for the next steps, which need all six scopes. You can delete it later without ' +
      'losing the first key:',
  ],
  samples: {
    curl: `curl ${url}/api/keys \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{
    "name": "Getting started",
    "scopes": ["websites:read", "websites:write", "monitors:read", "monitors:write",
               "providers:read", "providers:write"]
  }'`,
    typescript: `const response = await fetch('${url}/api/keys', {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.KEY}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify({
    name: 'Getting started',
    scopes: [
      'websites:read', 'websites:write', 'monitors:read', 'monitors:write',
      'providers:read', 'providers:write',
    ],
  }),
});
console.log(await response.json());`,
    python: `import json, os, urllib.request

key = {
    "name": "Getting started",
    "scopes": ["websites:read", "websites:write", "monitors:read", "monitors:write",
               "providers:read", "providers:write"],
}
request = urllib.request.Request(
    "${url}/api/keys",
    data=json.dumps(key).encode(),
    headers={"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(request)))`,
  },
  after: ['The response contains the new `key`. It is shown only once. Use it instead of the first key from now on: `export KEY=stkp_…`.'],
});

const createWebsiteStep = (url: string): Step => ({
  id: 'first-website',
  title: 'Register a website',
  before: ['The website registry accepts forms and returns JSON. Register a website, then list your websites:'],
  samples: {
    curl: `curl ${url}/api/v1/websites \\
  -H "Authorization: Bearer $KEY" -d domain=www.example.com -d email=1
curl ${url}/api/v1/websites -H "Authorization: Bearer $KEY"`,
    typescript: `const headers = { Authorization: \`Bearer \${process.env.KEY}\` };
const websites = '${url}/api/v1/websites';

const form = new URLSearchParams({ domain: 'www.example.com', email: '1' });
console.log(await (await fetch(websites, { method: 'POST', headers, body: form })).json());
console.log(await (await fetch(websites, { headers })).json());`,
    python: `import json, os, urllib.parse, urllib.request

headers = {"Authorization": f"Bearer {os.environ['KEY']}"}
websites = "${url}/api/v1/websites"

form = urllib.parse.urlencode({"domain": "www.example.com", "email": 1}).encode()
print(json.load(urllib.request.urlopen(urllib.request.Request(websites, form, headers))))
print(json.load(urllib.request.urlopen(urllib.request.Request(websites, headers=headers))))`,
  },
  after: [
    'The response contains the normalized domain, `example.com`. If you register it a second time, the response is the problem `domain_taken`.',
  ],
});

const createMonitorStep = (url: string): Step => ({
  id: 'first-monitor',
  title: 'Create a monitor',
  before: ['The monitoring API accepts JSON. Create a monitor that checks a URL every minute, then read its status:'],
  samples: {
    curl: `MONITOR=$(curl -sS ${url}/api/monitors \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"friendly_name": "Example", "url": "https://example.com", "interval": 60}' |
  sed 's/.*"id":\\([0-9]*\\).*/\\1/')
curl ${url}/api/monitors/$MONITOR -H "Authorization: Bearer $KEY"`,
    typescript: `const headers = { Authorization: \`Bearer \${process.env.KEY}\`, 'Content-Type': 'application/json' };
const monitors = '${url}/api/monitors';

const body = JSON.stringify({ friendly_name: 'Example', url: 'https://example.com', interval: 60 });
const { data: monitor } = await (await fetch(monitors, { method: 'POST', headers, body })).json();
console.log(await (await fetch(\`\${monitors}/\${monitor.id}\`, { headers })).json());`,
    python: `import json, os, urllib.request

headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"}
monitors = "${url}/api/monitors"

body = json.dumps({"friendly_name": "Example", "url": "https://example.com", "interval": 60}).encode()
monitor = json.load(urllib.request.urlopen(urllib.request.Request(monitors, body, headers)))["data"]
request = urllib.request.Request(f"{monitors}/{monitor['id']}", headers=headers)
print(json.load(urllib.request.urlopen(request)))`,
  },
  after: [
    'The `status` is `pending` until the first check, which follows within a few seconds. Then it is `up`, or `down` once two more checks have confirmed a failure. `last_error` says what failed.',
  ],
});

const createAlertStep = (url: string): Step => ({
  id: 'first-alert',
  title: 'Set up an alert',
  before: [
    'A provider defines where alerts are sent. It receives the alerts of the monitors that it is assigned to. Create an e-mail provider ' +
      'with your own address, assign it to the monitor, and send a test notification:',
  ],
  samples: {
    curl: `PROVIDER=$(curl -sS ${url}/api/providers \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"provider_type": "email", "recipient_email": "you@example.com"}' |
  sed 's/.*"id":\\([0-9]*\\).*/\\1/')
curl ${url}/api/monitors/$MONITOR/notifications \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d "{\\"provider_id\\": $PROVIDER}"
curl -X POST ${url}/api/providers/$PROVIDER/test -H "Authorization: Bearer $KEY"`,
    typescript: `async function call(method: string, path: string, body?: object) {
  const response = await fetch('${url}/api' + path, {
    method,
    headers: { Authorization: \`Bearer \${process.env.KEY}\`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  return response.json();
}

const email = { provider_type: 'email', recipient_email: 'you@example.com' };
const { data: provider } = await call('POST', '/providers', email);
const { data: [monitor] } = await call('GET', '/monitors');
console.log(await call('POST', \`/monitors/\${monitor.id}/notifications\`, { provider_id: provider.id }));
console.log(await call('POST', \`/providers/\${provider.id}/test\`));`,
    python: `import json, os, urllib.request

def call(method, path, body=None):
    headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request("${url}/api" + path, data, headers, method=method)
    return json.load(urllib.request.urlopen(request))

email = {"provider_type": "email", "recipient_email": "you@example.com"}
provider = call("POST", "/providers", email)["data"]
monitor = call("GET", "/monitors")["data"][0]
print(call("POST", f"/monitors/{monitor['id']}/notifications", {"provider_id": provider["id"]}))
print(call("POST", f"/providers/{provider['id']}/test"))`,
  },
  after: [
    'To send e-mail, the operator must have configured a mail server. Otherwise the test returns the problem `delivery_not_configured`. ' +
      'If the operator requires that recipients confirm their address, it returns `recipient_unconfirmed`: open the link in the mail, ' +
      'press the button, and test again. ' +
      'Slack, Discord, Teams, Telegram and PagerDuty need no configuration. For Slack, create the provider with ' +
      '`{"provider_type": "slack", "webhook_url": "https://hooks.slack.com/services/…"}`. A provider of type `webhook` posts signed ' +
      'events to a program of yours.',
    'To get a real alert, create a paused monitor (`"is_active": false`) for an unreachable URL, such as ' +
      '`https://nowhere.example.com`, assign the provider to it, and set `is_active` to true. A failed check is confirmed by two more ' +
      'checks, 5 seconds apart. Then the alert is sent.',
  ],
});
