import { sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import {
  createWithinQuota,
  hasVersion,
  newVersion,
  prepareDelete,
  preparePage,
  prepareRead,
  setGiven,
  type WriteCondition,
  writeIf,
} from '../../db/rows.ts';
import { prepare, type Statement } from '../../db/statement.ts';
import { insertInto, selectFrom, tables, updateTable } from '../../db/tables.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest } from '../../errors.ts';
import type { Handlers, ResourceVersion, Rules } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { forgetFailuresIf, retryNow } from '../alerts/provider-state.ts';
import type { ProviderType } from '../channels/channel.ts';
import { type Channels, channelOf } from '../channels/registry.ts';
import { addressOf, type Recipients } from '../recipients/recipients.ts';
import { wakeDispatcher } from '../wake.ts';
import { type Provider, ProviderEntity } from './provider.entity.ts';
import { newSettings, rejectFieldsOfOtherTypes, toStored, updateErrors } from './provider.settings.ts';
import { createdProviderView, providerView } from './provider.view.ts';
import { newSigningSecret, storedSecret } from './signing-secret.ts';

type ProviderOperations = Pick<operations, 'listProviders' | 'createProvider' | 'showProvider' | 'updateProvider' | 'deleteProvider'>;

export interface ProviderDeps {
  maxProviders: number;
  cipher: SecretCipher;
  channels: Channels;
  recipients: Recipients;
}

const readProvider = prepareRead(ProviderEntity);
const selectProviders = preparePage(() => selectFrom(ProviderEntity).orderBy('id', 'desc'));
const nextId = prepare(() => tables().selectNoFrom(sql<number>`nextval('providers_id_seq')`.as('id')));
const insertProvider = prepare(
  (given: Pick<Provider, 'id' | 'userId' | 'name' | 'providerType' | 'recipientUnconfirmed'> & { settings: string }) =>
    insertInto(ProviderEntity).values({
      id: given.id,
      user_id: given.userId,
      name: given.name,
      provider_type: given.providerType,
      settings: sql`${given.settings}::jsonb`,
      recipient_unconfirmed: given.recipientUnconfirmed,
    }),
);
interface Update extends WriteCondition {
  changes: string;
  name: string | null | undefined;
  /** Whether the address must be confirmed if it is another one. */
  mustConfirm: boolean;
}

/** These are decided by the statement, because another request may have changed the settings since they were read. */
const hasNewSettings = (changes: string) => sql<boolean>`(settings || ${changes}::jsonb is distinct from settings)`;
const hasNewAddress = (changes: string) =>
  sql<boolean>`settings ->> 'recipient_email' is distinct from (settings || ${changes}::jsonb) ->> 'recipient_email'`;
const updateProvider = prepare((given: Update) =>
  updateTable(ProviderEntity)
    .set({ settings: sql`settings || ${given.changes}::jsonb`, ...setGiven(ProviderEntity, given, ['name']), ...newVersion })
    .set(forgetFailuresIf(hasNewSettings(given.changes)))
    .set({
      recipient_unconfirmed: sql`case when ${hasNewAddress(given.changes)} then ${given.mustConfirm}::boolean else recipient_unconfirmed end`,
      // What failed before was about the old address.
      last_delivery_error: sql`case when ${given.mustConfirm}::boolean and ${hasNewAddress(given.changes)} then null else last_delivery_error end`,
    })
    .where('id', '=', given.id)
    .where(hasVersion(given.versions)),
);
const deleteProvider = prepareDelete(ProviderEntity);

export function providerRules({ channels }: Pick<ProviderDeps, 'channels'>): Rules<ProviderOperations> {
  return {
    createProvider: ({ provider_type: type, name, ...fields }) => ({ errors: (type && channels[type].check?.(fields)) ?? [] }),
    updateProvider: ({ provider_type, name, id, last_delivery_error, created_at, updated_at, ...fields }) => ({
      errors: updateErrors(channels, fields),
    }),
  };
}

export function providerHandlers({ maxProviders, cipher, channels, recipients }: ProviderDeps): Handlers<ProviderOperations, UserDatabase> {
  const view = (provider: Provider) => providerView(provider, channelOf(channels, provider.providerType));
  const resultOf = (provider: Provider) => ({ body: { data: view(provider) }, version: versionOf(provider) });

  return {
    async listProviders({ query: { page, pageSize }, url }, { db }) {
      const [providers, counted] = await db.query(...selectProviders({ page, pageSize }));
      return { body: { data: providers.map(view), ...pageMeta(url, { page, pageSize, counted }) } };
    },

    async createProvider({ body }, { caller: { userId }, db }) {
      const { provider_type: providerType, name = null, ...fields } = body;
      const address = addressOf(fields);
      const recipientUnconfirmed = recipients.mustConfirm(address);
      if (recipientUnconfirmed) await recipients.countLink(userId, address);
      // Secrets are bound to the id, so the id is assigned before the insert.
      const [[next]] = await db.query(nextId({}));
      const id = Number(next?.id);
      const channel = channels[providerType];
      const secret = channel.isSigned && newSigningSecret();
      const settings = {
        ...newSettings(channel, { userId, id }, fields, cipher),
        ...(secret !== undefined && storedSecret({ userId, id }, secret, cipher)),
      };
      const insert = insertProvider({ id, userId, name, providerType, settings: JSON.stringify(settings), recipientUnconfirmed });
      const link = recipientUnconfirmed ? [recipients.queueLink({ providerId: id, address }), wakeDispatcher({})] : [];
      const provider = await createWithinQuota(db, { table: 'providers', maximum: maxProviders }, insert, ...link);
      const { body: resource, version } = resultOf(provider);
      return {
        body: { data: createdProviderView(provider, channel, secret) },
        resource,
        version,
        location: `/api/providers/${id}`,
        created: { name: 'provider', id, ...(secret !== undefined && { advice: lostSecretAdvice(id) }) },
        ...(secret !== undefined && { containsSecret: true }),
      };
    },

    async showProvider({ path }, { db }) {
      return resultOf(await readProvider(db, path.id));
    },

    async updateProvider({ path: { id }, body }, { caller: { userId }, db, allowedVersions, requireVersion }) {
      const { provider_type: givenType, name, ...fields } = body;
      const readAllowed = async () => {
        const provider = await readProvider(db, id);
        requireVersion(versionOf(provider));
        rejectOtherType(givenType, provider.providerType);
        rejectFieldsOfOtherTypes(channels, provider.providerType, fields);
        return provider;
      };
      if (name === undefined && Object.keys(fields).length === 0) return resultOf(await readAllowed());
      let link: Statement | undefined;
      const updated = await writeIf(db, async () => {
        const provider = await readAllowed();
        const changes = toStored(channelOf(channels, provider.providerType), provider, fields, cipher);
        const address = addressOf(changes);
        const mustConfirm = recipients.mustConfirm(address);
        if (mustConfirm && !link && address !== addressOf(provider.settings)) {
          await recipients.countLink(userId, address);
          link = recipients.queueLink({ providerId: id, address });
        }
        const update = updateProvider({
          id,
          versions: allowedVersions('provider', id),
          changes: JSON.stringify(changes),
          name,
          mustConfirm,
        });
        return [update, ...(link ? [link] : []), wakeDispatcher({})];
      });
      // The alerts that wait because the old settings were wrong are due.
      if (Object.keys(fields).length > 0) await retryNow(db.query, { userId, providerId: id });
      return resultOf(updated);
    },

    async deleteProvider({ path: { id } }, { db, allowedVersions, requireVersion }) {
      await writeIf(db, async (isRetry) => {
        if (isRetry) requireVersion(versionOf(await readProvider(db, id)));
        return [deleteProvider({ id, versions: allowedVersions('provider', id) })]; // Assignments are deleted by cascade.
      });
      return { body: { id, object: 'provider', deleted: true } };
    },
  };
}

function rejectOtherType(given: ProviderType | undefined, stored: ProviderType) {
  if (given === undefined || given === stored) return;
  throw new InvalidRequest([{ in: 'body', pointer: '/provider_type', code: 'immutable', message: `cannot be changed from ${stored}` }]);
}

function lostSecretAdvice(id: number): string {
  return `but its signing secret cannot be shown again. If you did not save it, get another one with POST /api/providers/${id}/rotate-secret.`;
}

function versionOf({ id, version }: Provider): ResourceVersion {
  return { kind: 'provider', id, number: version };
}
