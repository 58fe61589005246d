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
import { prepare, queryInTransaction, type Statement } from '../../db/statement.ts';
import { insertInto, selectFrom, tables, updateTable } from '../../db/tables.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, ProblemError, RetryLaterError } from '../../errors.ts';
import type { Handlers, ResourceVersion, Rules } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import { countMessage, type ReachedLimit } from '../alerts/message-limits.ts';
import { forgetFailuresIf, retryNow } from '../alerts/provider-state.ts';
import { logTest } from '../alerts/test-log.ts';
import { DeliveryFailed, type ProviderType } from '../channels/channel.ts';
import { type Channels, channelOf } from '../channels/registry.ts';
import { testMessage } from '../channels/test-message.ts';
import { addressOf, type Recipients } from '../recipients/recipients.ts';
import { wakeDispatcher } from '../wake.ts';
import { type Provider, ProviderEntity } from './provider.entity.ts';
import { decryptSettings, newSettings, rejectFieldsOfOtherTypes, toStored, updateErrors } from './provider.settings.ts';
import { createdProviderView, providerView, unconfirmedRecipient } from './provider.view.ts';
import { newSigningSecret, replaceSecret, rotateSecret, signingOf, storedSecret } from './signing-secret.ts';

type ProviderOperations = Pick<
  operations,
  'listProviders' | 'createProvider' | 'showProvider' | 'updateProvider' | 'deleteProvider' | 'testProvider' | 'rotateProviderSecret'
>;

export interface ProviderDeps {
  maxProviders: number;
  cipher: SecretCipher;
  channels: Channels;
  limiters: Limiters;
  recipients: Recipients;
  /** The time on the clock of the database. */
  now(): number;
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

export function providerHandlers({
  maxProviders,
  cipher,
  channels,
  limiters,
  recipients,
  now,
}: ProviderDeps): Handlers<ProviderOperations, UserDatabase> {
  const testsPerProvider = limiters.create('test-provider', 5, 60);
  const testsPerUser = limiters.create('test-user', 20, 3600);
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

    async updateProvider({ path: { id }, body }, { db, allowedVersions, requireVersion }) {
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
        const { userId } = provider;
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
        if (Object.keys(changes).length === 0) return [update];
        // The alerts that wait because the old settings were wrong are due.
        return [update, ...(link ? [link] : []), retryNow({ userId, providerId: id }), wakeDispatcher({})];
      });
      return resultOf(updated);
    },

    async deleteProvider({ path: { id } }, { db, allowedVersions, requireVersion }) {
      await writeIf(db, async (isRetry) => {
        if (isRetry) requireVersion(versionOf(await readProvider(db, id)));
        return [deleteProvider({ id, versions: allowedVersions('provider', id) })]; // Assignments are deleted by cascade.
      });
      return { body: { id, object: 'provider', deleted: true } };
    },

    async testProvider({ path }, { caller: { userId }, db }) {
      const provider = await readProvider(db, path.id);
      const channel = channelOf(channels, provider.providerType);
      await enforceLimit(testsPerProvider, String(provider.id), 'A provider can be tested 5 times per minute.');
      await enforceLimit(testsPerUser, String(userId), 'A user can send 20 test notifications per hour.');
      const missing = channel.missingSetting();
      if (missing)
        throw new ProblemError(
          'delivery_not_configured',
          `${channel.name} delivery is not configured on this service. Ask the operator to set ${missing}.`,
        );
      const address = addressOf(provider.settings);
      if (provider.recipientUnconfirmed && address !== undefined) {
        await recipients.countLink(userId, address);
        await db.query(recipients.queueLink({ providerId: provider.id, address }), wakeDispatcher({}));
        throw new ProblemError('recipient_unconfirmed', `${unconfirmedRecipient} Another mail with the link was sent.`);
      }
      const counted = { userId, providerId: provider.id, channel };
      const reached = await db.transaction((em) => countMessage(queryInTransaction(em), counted));
      if (reached) throw limitReached(reached);
      const at = new Date(now());
      const message = testMessage({ userId, now: at });
      const log = (reason: string | null) => db.query(...logTest({ userId, providerId: provider.id, event: message.event, reason }));
      try {
        await channel.send(decryptSettings(channel, provider, cipher), message, signingOf(provider, cipher, at));
      } catch (error) {
        if (!(error instanceof DeliveryFailed)) throw error;
        await log(error.message);
        throw new ProblemError('delivery_failed', error.message);
      }
      await log(null);
      return { body: { message: `The test notification was accepted by ${channel.receiver}.` } };
    },

    async rotateProviderSecret({ path: { id } }, { db }) {
      const secret = newSigningSecret();
      let previousExpiresAt: string | null = null;
      await writeIf(db, async () => {
        const provider = await readProvider(db, id);
        const rotated = rotateSecret(provider, secret, cipher, now());
        if (!rotated) throw unsigned(provider.providerType);
        previousExpiresAt = rotated.previousExpiresAt;
        // If another rotation came first, its secret is then the previous one.
        return [replaceSecret({ id, replaced: rotated.replaced, changes: JSON.stringify(rotated.changes) })];
      });
      const data = { id, signing_secret: secret, previous_expires_at: previousExpiresAt };
      return { body: { data }, containsSecret: true };
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

function unsigned(type: ProviderType): ProblemError {
  return new ProblemError('no_signing_secret', `A provider of type ${type} has no signing secret. Only messages to webhooks are signed.`);
}

function limitReached({ limit, secondsLeft }: ReachedLimit): RetryLaterError {
  const seconds = `${secondsLeft} ${secondsLeft === 1 ? 'second' : 'seconds'}`;
  return new RetryLaterError('rate_limited', `You have reached the limit of ${limit}. It starts again in ${seconds}.`, secondsLeft);
}

function versionOf({ id, version }: Provider): ResourceVersion {
  return { kind: 'provider', id, number: version };
}
