import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { prepare } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { Recipients } from './recipients.ts';

/** What the recipient of a link is asked. */
export interface Invitation {
  /** The id of the provider. */
  id: number;
  userId: number;
  address: string;
  isUnconfirmed: boolean;
  /** The address of the user who wants to send alerts. */
  account: string;
}

/** Finds the user whose provider it is. Only the engine sees it before the user is known. Nobody can confirm anything to a suspended one. */
const findOwner = prepare(({ id }: { id: number }) =>
  tables<typeof ProviderEntity>()
    .selectFrom('providers')
    .select('user_id as userId')
    .where('id', '=', id)
    .where(sql<boolean>`not ${isSuspended('user_id')}`),
);

const selectInvitation = prepare(
  ({ id }: { id: number }) =>
    sql<Invitation>`select p.id, p.user_id as "userId", p.settings ->> 'recipient_email' as address,
        p.recipient_unconfirmed as "isUnconfirmed", u.email as account
      from providers as p join users as u on u.id = p.user_id
     where p.id = ${id} and p.settings ->> 'recipient_email' is not null`,
);

/** Confirms the address, unless it has changed since the link was opened. */
const confirmAddress = prepare(({ id, address }: { id: number; address: string }) =>
  tables<typeof ProviderEntity>()
    .updateTable('providers')
    .set({ recipient_unconfirmed: false })
    .where('id', '=', id)
    .where('recipient_unconfirmed', '=', true)
    .where(sql<boolean>`settings ->> 'recipient_email' = ${address}`)
    .returning('id'),
);

/** What the page of a link shows and does. */
export class Invitations {
  readonly #database: Pick<Database, 'engineTransaction' | 'query'>;
  readonly #recipients: Recipients;

  constructor(database: Pick<Database, 'engineTransaction' | 'query'>, recipients: Recipients) {
    this.#database = database;
    this.#recipients = recipients;
  }

  /** Returns what a link is about, unless it was not made for the address that the provider has now. */
  async find(id: number, signature: string): Promise<Invitation | undefined> {
    const [[owner]] = await this.#database.engineTransaction((query) => query(findOwner({ id })));
    if (!owner) return undefined;
    const [[invitation]] = await this.#database.query(owner.userId)(selectInvitation({ id }));
    return invitation && this.#recipients.isLink(signature, { providerId: id, address: invitation.address }) ? invitation : undefined;
  }

  /** Returns whether the address is confirmed now and was not before. It may have changed since the link was opened. */
  async confirm({ id, userId, address }: Invitation): Promise<boolean> {
    const [[confirmed]] = await this.#database.query(userId)(confirmAddress({ id, address }));
    return confirmed !== undefined;
  }
}
