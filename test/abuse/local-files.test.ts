// Another user of the same machine, who reads or plants files.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { type RunningProcess, run, waitUntilListening } from '../support/process.ts';

const isEmbedded = 'snapshot' in inject('source');

guarantee(4, 'Other users of the machine can neither read the files of the service nor give it code to run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-abuse-'));
  chmodSync(folder, 0o755);
  const [data, temporary, home] = ['data', 'tmp', 'home'].map((name) => join(folder, name)) as [string, string, string];
  for (const path of [data, temporary, home]) mkdirSync(path);
  chmodSync(data, 0o755);
  const measured: string[] = [];
  let service: RunningProcess | undefined;
  try {
    // The shared folder that Node would use by default.
    service = run(folder, { PORT: '0', DATA_DIR: data, TMPDIR: temporary, HOME: home, LOG_LEVEL: 'info' });
    await waitUntilListening(service);
    const modes = [data, join(home, '.cache/sitekeeper')].map((path) => (statSync(path).mode & 0o777).toString(8));
    expect(modes).toEqual(['700', '700']);
    expect(existsSync(join(temporary, 'node-compile-cache'))).toBe(false);
    measured.push(`data directory ${modes[0]} (it was 755), compiled code in a folder with ${modes[1]}`);
    service.child.kill('SIGINT');
    await service.ended;
    expect(readdirSync(join(home, '.cache/sitekeeper/compiled')).length).toBeGreaterThan(0);

    const inProc = run(folder, { PORT: '0', DATA_DIR: '/proc/x/y' });
    expect([await inProc.ended, inProc.printed()]).toEqual([1, expect.stringMatching(/^Cannot start\. DATA_DIR is [^\n]+\n$/)]);
    measured.push('a directory that cannot be created is reported in one line');
  } finally {
    service?.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
  // The data directory belongs to the embedded database. With a server, the service has no files but its compiled code.
  return `${measured.join('; ')}${isEmbedded ? '' : ' (embedded database)'}`;
});
