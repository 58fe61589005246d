// The samples of the getting-started page. test/browser runs every one of them.

export const languages = [
  { id: 'curl', name: 'curl', caption: 'In a shell' },
  { id: 'typescript', name: 'TypeScript', caption: 'In a file such as first.mts; run it with: node first.mts' },
  { id: 'python', name: 'Python', caption: 'In a file such as first.py; run it with: python3 first.py' },
] as const;

export interface Step {
  id: string;
  title: string;
  /** Text with code in `backticks`. */
  before: string[];
  samples: Record<(typeof languages)[number]['id'], string>;
  after: string[];
}

export const steps = (url: string): Step[] => [firstKey(url), firstWebsite(url), firstMonitor(url), firstAlert(url)];

const firstKey = (url: string): Step => ({
  id: 'first-key',
  title: 'Your first key',
  before: [
    'The first start of the service prints an API key, once. Keep it in the shell with `export KEY=stkp_…`: every sample reads it from there. ' +
      'Does somebody else run the service? Ask them for a key, or sign in above and make one in the reference of monitoring.',
    'That first key may do everything. Make one for what you are about to do, and no more:',
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
  after: ['The answer shows the new `key`, this once. Put it in the place of the first one, again with `export KEY=stkp_…`.'],
});

const firstWebsite = (url: string): Step => ({
  id: 'first-website',
  title: 'Your first website',
  before: ['The website registry takes forms and answers JSON. Register a website, and see it in the list:'],
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
    'The domain comes back in its normal form, `example.com`. Register it a second time, and the answer is a problem: `domain_taken`.',
  ],
});

const firstMonitor = (url: string): Step => ({
  id: 'first-monitor',
  title: 'Your first monitor',
  before: ['Monitoring takes JSON. Have an address checked every minute, and see how it stands:'],
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
  after: ['Its `status` is `pending` until the first check, a few seconds from now; then `up` or `down`.'],
});

const firstAlert = (url: string): Step => ({
  id: 'first-alert',
  title: 'Your first alert',
  before: [
    'A provider says where alerts go, an assignment which monitor they are about. Make an e-mail provider (put in your own address), assign it to the monitor, and send a test:',
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
    'E-mail needs a mail server that the operator has set; without one the test answers `delivery_not_configured`. Slack and Telegram need no setting: ' +
      'send `{"provider_type": "slack", "webhook_url": "https://hooks.slack.com/services/…"}` instead.',
    'To see a real alert, make a monitor of an address that cannot be reached, such as `https://nowhere.example.com`, and assign the provider to it. ' +
      'A failing check is confirmed by two more, 5 seconds apart; then the alert is on its way.',
  ],
});
