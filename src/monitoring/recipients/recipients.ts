import { sql } from 'kysely';
import type { LinkSigner } from '../../auth/link-signer.ts';
import { prepare, type Statement } from '../../db/statement.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import type { StoredEvent } from '../messages/event.ts';
import type { StoredSettings } from '../providers/provider.settings.ts';

interface RecipientDeps {
  /** Whether recipients of mail must confirm their address. */
  isRequired: boolean;
  /** The name of the installation. */
  installation: string;
  publicUrl: string;
  signer: LinkSigner;
  limiters: Limiters;
  /** The time on the clock of the database. */
  now(): number;
}

interface Recipient {
  providerId: number;
  address: string;
}

const daySeconds = 24 * 60 * 60;
const purpose = 'confirm-recipient';

/** Queues the link if the provider still has the address, and it is still not confirmed. */
const insertLink = prepare(
  (given: { providerId: number; address: string; event: string }) =>
    sql`insert into alerts (user_id, provider_id, kind, payload)
      select p.user_id, p.id, 'recipient.confirmation', jsonb_set(${given.event}::jsonb, '{data,account}', to_jsonb(u.email))
        from providers as p join users as u on u.id = p.user_id
       where p.id = ${given.providerId} and p.recipient_unconfirmed and p.settings ->> 'recipient_email' = ${given.address}
         for key share of p`,
);

/** Makes sure that the recipients of mail want it: each gets a link first, and alerts only after confirming the address. */
export class Recipients {
  readonly #deps: RecipientDeps;
  readonly #perUser;
  readonly #perAddress;

  constructor(deps: RecipientDeps) {
    this.#deps = deps;
    this.#perUser = deps.limiters.create('recipient-user', 20, daySeconds);
    this.#perAddress = deps.limiters.create('recipient-address', 3, daySeconds);
  }

  /** Whether alerts to a new address must be confirmed. Other channels have no address. */
  mustConfirm(address: string | undefined): address is string {
    // Accounts have no confirmed address yet. Once they have one, that address needs no link.
    return address !== undefined && this.#deps.isRequired;
  }

  /** Counts a mail with a link before it is queued. Throws RetryLaterError if a limit is exceeded. */
  async countLink(userId: number, address: string): Promise<void> {
    await enforceLimit(this.#perUser, String(userId), 'A user can have 20 mails a day sent that ask a recipient to confirm an address.');
    await enforceLimit(this.#perAddress, address.toLowerCase(), 'An address gets at most 3 mails a day that ask to confirm it.');
  }

  /** Queues a mail with a link. */
  queueLink({ providerId, address }: Recipient): Statement {
    const { installation, publicUrl, signer } = this.#deps;
    const event: StoredEvent = {
      type: 'recipient.confirmation',
      timestamp: new Date(this.#deps.now()).toISOString(),
      data: {
        provider_id: providerId,
        recipient: address,
        account: '', // The statement reads it.
        installation,
        url: `${publicUrl}/${purpose}/${providerId}/${signer.sign(purpose, providerId, address)}`,
      },
    };
    return insertLink({ providerId, address, event: JSON.stringify(event) });
  }

  /** Whether the signature is that of the link for this address of the provider. */
  isLink(signature: string, { providerId, address }: Recipient): boolean {
    return this.#deps.signer.verify(signature, purpose, providerId, address);
  }
}

/** The address that mails go to. Providers of other types have none. */
export function addressOf({ recipient_email: address }: StoredSettings): string | undefined {
  return address as string | undefined; // The contract has validated it.
}
