import { type Fault, faultsIn } from '../fault.ts';

const channel = ['test/monitoring/channels/webhook.test.ts'];
const rotation = ['test/monitoring/providers/rotate-provider-secret.test.ts'];
const delivered = ['test/monitoring/alerts/webhooks.test.ts'];
const client = ['test/contract/client/webhook.test.ts'];

export const webhookFaults: Fault[] = [
  ...faultsIn({ file: 'src/monitoring/channels/webhook/webhook.channel.ts', tests: channel }, [
    {
      title: 'http to a public address is sent',
      find: 'isSecure(url) ? net : { ...net, onlyAllowed: true }',
      replace: 'net',
    },
    {
      title: 'http is accepted for every public address',
      find: 'isSecure(text) || !mayBeAllowed(text, allow)',
      replace: 'isSecure(text)',
    },
    {
      title: 'http is accepted for a name although nothing is allowed',
      find: 'allow.length > 0',
      replace: 'allow.length >= 0',
    },
    {
      title: 'webhooks are messages to people, and become one message',
      find: "audience: 'programs'",
      replace: "audience: 'people'",
      tests: delivered,
    },
    {
      title: 'the key of a signature that the receiver quotes is shown',
      find: '[secret, keyTextOf(secret)]',
      replace: '[secret]',
      tests: ['test/monitoring/channels/webhook.test.ts > quotes the key'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/webhook/signature.ts', tests: channel }, [
    { title: 'the timestamp of a webhook is not signed', find: '${id}.${timestamp}.${body}', replace: '${id}..${body}' },
    { title: 'the timestamp of a webhook is in milliseconds', find: 'at.getTime() / 1000', replace: 'at.getTime()' },
    { title: 'only the newest secret signs', find: 'secrets.map(', replace: 'secrets.slice(0, 1).map(' },
    { title: 'the Base64 text of a secret is the key', find: ", 'base64'))", replace: '))' },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/webhook/webhook-event.ts', tests: channel }, [
    {
      title: 'what only messages to people say is sent to webhooks',
      find: 'return { type, timestamp, data: complete }',
      replace: 'return { type, timestamp, data: complete, lastGood: null }',
    },
    {
      title: 'an alert that an older version has stored lacks a field',
      find: '{ ...absentBefore, ...data.incident }',
      replace: '{ ...data.incident }',
    },
    {
      title: 'an event says that nobody has acknowledged the incident',
      find: '{ ...absentBefore, ...data.incident }',
      replace: '{ ...data.incident, ...absentBefore }',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/providers/signing-secret.ts', tests: rotation }, [
    { title: 'a previous secret signs for an hour', find: '24 * 60 * 60 * 1000', replace: '60 * 60 * 1000' },
    { title: 'a previous secret signs forever', find: ' && Date.parse(previous.expires_at) > at.getTime()', replace: '' },
    { title: 'a previous secret does not sign', find: 'previous === undefined ? null :', replace: 'previous !== undefined ? null :' },
    {
      title: 'a lost key prevents a rotation',
      find: '  } catch {\n    return undefined;',
      replace: '  } catch (error) {\n    throw error;',
    },
    {
      title: 'of two concurrent rotations, one secret is lost',
      find: ".where(sql<boolean>`settings #>> '{signing_secret,encrypted}' = ${given.replaced}`)",
      replace: '.where(sql<boolean>`${given.replaced}::text is not null`)',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/providers/rotate-secret.handlers.ts', tests: rotation }, [
    {
      title: 'a provider that is no webhook gets a signing secret that does not sign',
      find: 'if (!rotated) throw unsigned(provider.providerType);',
      replace: 'if (!rotated) return [replaceSecret({ id, replaced: String(id), changes: String(id) })];',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/providers/providers.handlers.ts', tests: rotation }, [
    {
      title: 'a signing secret is stored for a repeated request',
      find: '...(secret !== undefined && { containsSecret: true }),',
      replace: '',
    },
  ]),
  ...faultsIn({ file: 'generated/client/src/webhook.ts', tests: client }, [
    { title: 'the client accepts every signature', find: '(await crypto.subtle.verify', replace: '!(await crypto.subtle.verify' },
    {
      title: 'the client accepts a webhook of last year',
      find: 'Math.abs(now.getTime() / 1000',
      replace: 'Math.min(0, now.getTime() / 1000',
    },
    { title: 'the client accepts only the first signature', find: 'slice(0, maxSignatures)', replace: 'slice(0, 1)' },
  ]),
];
