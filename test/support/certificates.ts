import 'reflect-metadata'; // @peculiar/x509 requires it.
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import * as x509 from '@peculiar/x509';

export interface Certificate {
  key: string;
  cert: string;
}

export interface Authority extends Certificate {
  issue(name: string, validity?: { from: Date; to: Date }): Promise<Certificate>;
}

type KeyPair = Awaited<ReturnType<typeof newKeys>>;

const day = 24 * 60 * 60 * 1000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Creates a certificate authority that issues certificates for host names and IP addresses. Each call creates a new one. */
export async function createAuthority({ hasExpired = false } = {}): Promise<Authority> {
  const validity = { notBefore: new Date(Date.now() - 2 * day), notAfter: new Date(Date.now() + (hasExpired ? -1 : 2) * day) };
  const keys = await newKeys();
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=Test authority ${crypto.randomUUID()}`,
    keys,
    ...validity,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    key: await pem(keys),
    cert: own.toString('pem'),
    async issue(name, { from, to } = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) }) {
      const issued = await newKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        subject: 'CN=Test',
        issuer: own.subject,
        publicKey: issued.publicKey,
        signingKey: keys.privateKey,
        notBefore: from,
        notAfter: to,
        signingAlgorithm: algorithm,
        extensions: [new x509.SubjectAlternativeNameExtension([{ type: /^[\d.]+$/.test(name) ? 'ip' : 'dns', value: name }])],
      });
      return { key: await pem(issued), cert: certificate.toString('pem') };
    },
  };
}

/** Creates a chain of certificates on P-521, each issued by the next. Verifying one of them takes milliseconds. */
export async function createCostlyChain(length: number): Promise<Certificate> {
  const costly = { ...algorithm, namedCurve: 'P-521' };
  const [leaf, ...issuers] = await Promise.all(Array.from({ length: length + 1 }, (_, index) => newKeys(index === 0 ? algorithm : costly)));
  const certificates = issuers.map(({ privateKey }, index) =>
    x509.X509CertificateGenerator.create({
      subject: `CN=${index}`,
      issuer: `CN=${index + 1}`,
      publicKey: ([leaf, ...issuers][index] as KeyPair).publicKey,
      signingKey: privateKey,
      notBefore: new Date(Date.now() - day),
      notAfter: new Date(Date.now() + day),
      signingAlgorithm: costly,
      extensions: [new x509.BasicConstraintsExtension(index > 0, undefined, true)],
    }),
  );
  const cert = (await Promise.all(certificates)).map((certificate) => certificate.toString('pem')).join('\n');
  return { key: await pem(leaf as KeyPair), cert };
}

/** Creates a self-signed certificate with an RSA key. */
export async function createRsaCertificate(): Promise<Certificate> {
  const rsa = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(rsa, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };
  const own = await x509.X509CertificateGenerator.createSelfSigned({ name: 'CN=Test', keys, ...validity, signingAlgorithm: rsa });
  return { key: await pem(keys), cert: own.toString('pem') };
}

/** Adds the authority to the default CA certificates of this process. */
export function trust({ cert }: Authority): void {
  setDefaultCACertificates([...getCACertificates('default'), cert]);
}

function newKeys(keyAlgorithm = algorithm) {
  return crypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

async function pem({ privateKey }: Pick<KeyPair, 'privateKey'>): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
}
