import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

export interface Certificate {
  key: string;
  cert: string;
}

export interface Authority extends Certificate {
  issue(name: string, validity?: { from: Date; to: Date }): Certificate;
  close(): void;
}

const day = 24 * 60 * 60 * 1000;
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** An authority that issues certificates for names and addresses. Made with openssl, each time anew. */
export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-certificates-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  writeFileSync(join(folder, 'index.txt'), '');
  writeFileSync(
    join(folder, 'ca.cnf'),
    `[ca]
default_ca = own
[own]
dir = .
database = index.txt
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
rand_serial = yes
unique_subject = no
policy = any
copy_extensions = copy
[any]
commonName = supplied
`,
  );
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=Test authority');
  let issued = 0;
  return {
    key: read('ca.key'),
    cert: read('ca.pem'),
    issue(name, validity = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) }) {
      const file = `issued-${++issued}`;
      const alternative = /^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`;
      openssl(
        'req',
        ...newKey,
        '-keyout',
        `${file}.key`,
        '-out',
        `${file}.csr`,
        '-subj',
        '/CN=Test',
        '-addext',
        `subjectAltName=${alternative}`,
      );
      const dates = ['-startdate', opensslDate(validity.from), '-enddate', opensslDate(validity.to)];
      openssl('ca', '-batch', '-config', 'ca.cnf', '-in', `${file}.csr`, '-out', `${file}.pem`, '-notext', ...dates);
      return { key: read(`${file}.key`), cert: read(`${file}.pem`) };
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** Makes this process take the authority for one of those that come with Node. */
export function trust({ cert }: Authority): void {
  setDefaultCACertificates([...getCACertificates('default'), cert]);
}

function opensslDate(date: Date): string {
  return `${date
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replace(/[-:T]/g, '')}Z`;
}
