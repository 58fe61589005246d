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

/** Adds the authority to the default CA certificates of this process. */
export function trust({ cert }: Authority): void {
  setDefaultCACertificates([...getCACertificates('default'), cert]);
}

function newKeys() {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function pem({ privateKey }: Awaited<ReturnType<typeof newKeys>>): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
}
