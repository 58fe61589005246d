// The embedded database in a control group that limits its memory, as containers and service managers create one.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Deployment, kill } from '../faults/support/deployment.ts';
import { send } from '../faults/support/load.ts';
import { waitUntilListening } from '../support/process.ts';

const megabyte = 1024 * 1024;

/** Creates a control group below that of the tests. Returns its folder and the file of its limit, or why there is none. */
function createGroup(): { folder: string; limitFile: string } | { reason: string } {
  const groups = existsSync('/proc/self/cgroup') ? readFileSync('/proc/self/cgroup', 'utf8') : '';
  const [, version1] = /^\d+:memory:(.*)$/m.exec(groups) ?? [];
  const [, version2 = ''] = /^0::(.*)$/m.exec(groups) ?? [];
  const parent = version1 === undefined ? join('/sys/fs/cgroup', version2) : join('/sys/fs/cgroup/memory', version1);
  const folder = join(parent, `sitekeeper-test-${process.pid}`);
  try {
    mkdirSync(folder);
  } catch (error) {
    return { reason: (error as Error).message };
  }
  const limitFile = join(folder, version1 === undefined ? 'memory.max' : 'memory.limit_in_bytes');
  if (existsSync(limitFile)) return { folder, limitFile };
  rmdirSync(folder);
  return { reason: 'groups below that of the tests cannot limit memory' };
}

const group = createGroup();
const title = 'reason' in group ? `needs control groups: ${group.reason}` : 'in a control group';

describe.skipIf('reason' in group)(title, () => {
  const { folder, limitFile } = 'reason' in group ? { folder: '', limitFile: '' } : group;
  let deployment: Deployment;

  beforeAll(async () => {
    deployment = await Deployment.create({});
  });
  afterAll(async () => {
    await deployment.remove();
    await vi.waitFor(() => rmdirSync(folder)); // The kernel removes a process from its group shortly after its end.
  });

  /** The process is moved before it has loaded anything: to the group that has the limit, or to one below it. */
  function startWithLimit(megabytes: number, moveTo = folder) {
    writeFileSync(limitFile, String(megabytes * megabyte));
    const service = deployment.start({}, ['serve']);
    writeFileSync(join(moveTo, 'cgroup.procs'), String(service.child.pid));
    return service;
  }

  test('with too little memory, the service does not start, says why in one line and writes nothing', async () => {
    const service = startWithLimit(256);
    expect(await service.ended).toBe(1);
    expect(service.printed()).toBe(
      'Cannot start. The embedded database needs at least 320 MB of memory, but this process may use only 256 MB. Raise the limit, or set DATABASE_URL to a PostgreSQL server.\n',
    );
    expect(existsSync(join(deployment.folder, 'data'))).toBe(false);
  });

  test('a limit of the parent group counts', async () => {
    const child = join(folder, 'child');
    mkdirSync(child);
    try {
      const service = startWithLimit(256, child);
      expect([await service.ended, service.printed()]).toEqual([1, expect.stringContaining('this process may use only 256 MB.')]);
    } finally {
      await vi.waitFor(() => rmdirSync(child));
    }
  });

  test.each(['first', 'second'])('with 384 MB, the %s start succeeds and requests are served', async (start) => {
    const service = startWithLimit(384);
    const url = await waitUntilListening(service);
    for (let n = 0; n < 150; n++) {
      const form = `domain=${start}-${n}.example&exclude_params=${`${n}%0A`.repeat(500)}`;
      const { status } = await send(undefined, `${url}/api/v1/websites`, { method: 'POST', key: deployment.key, form });
      expect(status).toBe(201);
    }
    // V8 must not have optimized the parser, which takes 600 MB and would be killed here.
    const [, peak] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8')) ?? [];
    expect(Number(peak) / 1024).toBeLessThan(450);
    await kill(service);
  });
});
