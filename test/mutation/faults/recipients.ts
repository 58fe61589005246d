import { type Fault, faultsIn } from '../fault.ts';

const delivered = ['test/monitoring/recipients/recipients.test.ts'];
const page = ['test/pages/confirm-recipient.test.ts'];

export const recipientFaults: Fault[] = [
  ...faultsIn({ file: 'src/auth/link-signer.ts', tests: ['test/auth/link-signer.test.ts'] }, [
    { title: 'a link of one purpose is valid for another', find: 'JSON.stringify(parts)', replace: 'JSON.stringify(parts.slice(1))' },
    { title: 'a link is about less than it should be', find: 'JSON.stringify(parts)', replace: 'JSON.stringify(parts.slice(0, 2))' },
    { title: 'only the newest key verifies links', find: 'return this.#keys\n', replace: 'return this.#keys\n      .slice(0, 1)\n' },
  ]),
  ...faultsIn({ file: 'src/monitoring/recipients/unwanted.ts', tests: delivered }, [
    {
      title: 'alerts are sent to a recipient who has not confirmed',
      find: "provider.recipientUnconfirmed ? 'not sent: the recipient has not confirmed the address yet' : undefined",
      replace: 'undefined',
    },
    {
      title: 'a link is sent to the address that replaces its own',
      find: 'return isForAddress ? undefined',
      replace: 'return row ? undefined',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/providers/providers.handlers.ts', tests: delivered }, [
    {
      title: 'a new address need not be confirmed',
      find: 'then ${given.mustConfirm}::boolean else recipient_unconfirmed end',
      replace: 'then false else recipient_unconfirmed end',
    },
    {
      title: 'an update confirms the address that stays',
      find: 'then ${given.mustConfirm}::boolean else recipient_unconfirmed end',
      replace: 'then ${given.mustConfirm}::boolean else false end',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/providers/test-provider.handlers.ts', tests: delivered }, [
    {
      title: 'a test is sent to a recipient who has not confirmed',
      find: 'provider.recipientUnconfirmed && address !== undefined',
      replace: 'false && address !== undefined',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/recipients/recipients.ts', tests: delivered }, [
    { title: 'the spelling of an address evades its limit', find: 'address.toLowerCase()', replace: 'address' },
    { title: 'a user has any number of links sent', find: "'recipient-user', 20", replace: "'recipient-user', 21" },
  ]),
  ...faultsIn({ file: 'src/pages/confirm-recipient.ts', tests: page }, [
    {
      title: 'opening a link confirms the address',
      find: "ctx.method === 'POST' && opened?.isUnconfirmed === true",
      replace: 'opened?.isUnconfirmed === true',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/recipients/invitations.ts', tests: page }, [
    {
      title: 'any signature is valid',
      find: 'this.#recipients.isLink(signature, { providerId: id, address: invitation.address })',
      replace: 'true',
    },
    { title: 'links of suspended users are valid', find: "    .where(sql<boolean>`not ${isSuspended('user_id')}`),\n", replace: '' },
    {
      title: 'a link confirms the address that replaces its own',
      find: "    .where(sql<boolean>`settings ->> 'recipient_email' = ${address}`)\n",
      replace: '',
      tests: delivered,
    },
  ]),
  {
    title: 'a link can be sent any number of times',
    file: 'src/monitoring/alerts/deliveries.handlers.ts',
    find: "    .where('kind', '<>', sql.lit('recipient.confirmation'))\n",
    replace: '',
    tests: delivered,
  },
];
