// The Kubernetes manifests refer only to what exists, and give each process only the secrets that it needs. .ci/check-deploy
// validates them against the schemas of Kubernetes.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { settingNames } from '../../src/config/config.ts';
import { secretSettings } from '../../src/config/secret-files.ts';

const folder = join(import.meta.dirname, '../../deploy/kubernetes');
const readText = (file: string) => readFileSync(join(folder, file), 'utf8');
const allSettings = [...settingNames, ...secretSettings.map((name) => `${name}_FILE`)];
const unknownSettings = (names: string[]) => names.filter((name) => !allSettings.includes(name));

interface Container {
  image: string;
  args: string[];
  resources: { limits: { memory: string } };
  env?: { name: string; value: string }[];
  envFrom?: { configMapRef: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  lifecycle?: { preStop: { exec: { command: [string, string] } } };
  securityContext: { readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean; capabilities: { drop: string[]; add?: string[] } };
  volumeMounts: { name: string; mountPath: string }[];
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
}
interface Probe {
  httpGet: { path: string; port: string };
}
interface Volume {
  name: string;
  secret?: { secretName: string; items?: Item[]; defaultMode: number };
  projected?: { defaultMode: number; sources: { secret: { name: string; items?: Item[] | undefined } }[] };
}
interface Item {
  key: string;
  path: string;
}
interface Pod {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: {
    containers: [Container];
    volumes: Volume[];
    terminationGracePeriodSeconds?: number;
    securityContext: { runAsUser: number; runAsNonRoot: boolean; seccompProfile: { type: string } };
    automountServiceAccountToken: boolean;
  };
}
interface Manifest {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another spec, and kubernetes-validate checks it.
  spec: any;
}

const manifests = readdirSync(folder)
  .filter((file) => file !== 'kustomization.yaml')
  .flatMap((file) => parseAllDocuments(readText(file)).map((document): Manifest => document.toJS()));
function find(kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (!found) throw new Error(`There is no ${kind} ${name}.`);
  return found;
}
const pods: [string, Pod][] = [
  find('Job', 'sitekeeper-migrate'),
  find('Deployment', 'sitekeeper-serve'),
  find('Deployment', 'sitekeeper-worker'),
].map(({ metadata, spec }) => [metadata.name, spec.template]);

/** The paths of the files that a container sees, by the key of the secret. */
function mountedSecrets({ spec }: Pod): string[] {
  return spec.containers[0].volumeMounts.flatMap(({ name, mountPath }) => {
    const { secret, projected } = spec.volumes.find((volume) => volume.name === name) ?? {};
    const sources = (projected?.sources ?? []).map((source) => source.secret);
    if (secret) sources.push({ name: secret.secretName, items: secret.items });
    return sources.flatMap((source) => {
      const keys = Object.keys(find('Secret', source.name).stringData ?? {});
      const items = source.items?.filter(({ key }) => keys.includes(key)) ?? keys.map((key) => ({ key, path: key }));
      return items.map(({ path }) => `${mountPath}/${path}`);
    });
  });
}

test('kustomization.yaml lists every manifest that is not an example, and sets the image that they name', () => {
  const { resources, images } = parse(readText('kustomization.yaml'));
  const files = readdirSync(folder).filter((file) => !/^kustomization\.yaml$|\.example\.yaml$|^secrets\.yaml$/.test(file));
  expect(resources.toSorted()).toEqual(files.toSorted());
  expect(images.map(({ name }: { name: string }) => name)).toEqual(['sitekeeper']);
  expect(pods.map(([, { spec }]) => spec.containers[0].image)).toEqual(['sitekeeper', 'sitekeeper', 'sitekeeper']);
});

test.each(pods)('%s has only settings that exist, and its secrets are files that are mounted', (_, pod) => {
  const { env = [], envFrom = [] } = pod.spec.containers[0];
  const maps = envFrom.map(({ configMapRef }) => find('ConfigMap', configMapRef.name).data ?? {});
  expect(unknownSettings([...env.map(({ name }) => name), ...maps.flatMap(Object.keys)])).toEqual([]);
  expect(env.filter(({ name, value }) => !name.endsWith('_FILE') || !mountedSecrets(pod).includes(value))).toEqual([]);
  expect(maps.flatMap(Object.keys).filter((name) => secretSettings.includes(name))).toEqual([]);
});

test.each(pods)('%s gets no secret that it does not use', (_, pod) => {
  const used = pod.spec.containers[0].env?.map(({ value }) => value) ?? [];
  expect(mountedSecrets(pod).toSorted()).toEqual(used.toSorted());
});

test('only the migrate job gets the login of the owner', () => {
  const withOwner = pods.filter(([, pod]) => mountedSecrets(pod).some((path) => path.endsWith('/MIGRATE_DATABASE_URL')));
  expect(withOwner.map(([name]) => name)).toEqual(['sitekeeper-migrate']);
});

test.each(pods)('the secrets of %s can be read by its own user and group only', (_, { spec }) => {
  const modes = spec.volumes.flatMap(({ secret, projected }) => (secret ?? projected)?.defaultMode ?? []);
  expect(modes).toEqual([0o440]);
});

test.each(pods)('%s cannot call the API of Kubernetes, and its memory is limited', (_, { spec }) => {
  expect(spec.automountServiceAccountToken).toBe(false);
  expect(spec.containers[0].resources.limits.memory).toMatch(/^\d+Mi$/);
});

test('only the workers check monitors', () => {
  expect(pods.map(([, { spec }]) => spec.containers[0].args)).toEqual([['migrate'], ['serve', '--no-engine'], ['worker']]);
});

test('probes and Prometheus reach the metrics of a pod, and each client of the ingress has its own limits', () => {
  expect(find('ConfigMap', 'sitekeeper').data).toMatchObject({ METRICS_HOST: '0.0.0.0', TRUSTED_PROXIES: '1' });
});

test.each(pods)('%s runs as an unprivileged user with few system calls on a read-only file system', (name, { spec }) => {
  const { readOnlyRootFilesystem, allowPrivilegeEscalation, capabilities } = spec.containers[0].securityContext;
  expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } });
  const needsPing = name === 'sitekeeper-worker';
  expect({ readOnlyRootFilesystem, allowPrivilegeEscalation, capabilities }).toEqual({
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: needsPing,
    capabilities: { drop: ['ALL'], ...(needsPing && { add: ['NET_RAW'] }) },
  });
});

/** After SIGTERM, a process exits within this time (src/runtime/shutdown.ts). */
const shutdownSeconds = 9;

/** Proxies need a moment to notice that a pod no longer serves requests. Nothing connects to a worker. */
test.each([
  ['serve', 'http', 3000, 5],
  ['worker', 'metrics', 9464, 0],
])('the pods of %s are probed on the port %s, are replaced without a gap, and have time to stop', (component, portName, port, pause) => {
  const { replicas, selector, strategy, template } = find('Deployment', `sitekeeper-${component}`).spec;
  const { spec, metadata }: Pod = template;
  const [{ ports = [], args, lifecycle, startupProbe, readinessProbe, livenessProbe }] = spec.containers;
  expect([replicas, args[0]]).toEqual([2, component]);
  expect(metadata.labels).toEqual(selector.matchLabels);
  expect(find('PodDisruptionBudget', `sitekeeper-${component}`).spec).toEqual({ minAvailable: 1, selector });
  expect(ports.find(({ name }) => name === portName)?.containerPort).toBe(port);
  const get = (path: string) => ({ httpGet: { path, port: portName } });
  expect([startupProbe, readinessProbe, livenessProbe]).toMatchObject([get('/healthz'), get('/readyz'), get('/healthz')]);
  const scraped = ports.find(({ name }) => name === 'metrics')?.containerPort;
  expect(metadata.annotations?.['prometheus.io/port']).toBe(String(scraped));
  expect(find('ConfigMap', 'sitekeeper').data?.METRICS_PORT).toBe(String(scraped));
  expect(strategy).toEqual({ rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  const preStopSeconds = Number(lifecycle?.preStop.exec.command[1] ?? 0);
  expect(preStopSeconds).toBe(pause);
  expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(preStopSeconds + shutdownSeconds);
});

test('the service and the ingress lead to the pods that serve requests', () => {
  const { selector, ports } = find('Service', 'sitekeeper').spec;
  const { metadata, spec }: Pod = find('Deployment', 'sitekeeper-serve').spec.template;
  expect(metadata.labels).toMatchObject(selector);
  expect(spec.containers[0].ports?.map(({ name }) => name)).toContain(ports[0].targetPort);
  expect(find('Ingress', 'sitekeeper').spec.rules[0].http.paths[0].backend.service).toEqual({
    name: 'sitekeeper',
    port: { name: ports[0].name },
  });
});
