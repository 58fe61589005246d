import type { operations } from '../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import { findById } from '../../db/find-by-id.ts';
import { readById, selectPage } from '../../db/statement.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { ProblemError, RetryLaterError, type ValidationError } from '../../errors.ts';
import type { Handlers, ResourceVersion, Rules } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import { lockQuota } from '../../limits/quota.ts';
import { DeliveryFailed } from '../channels/channel.ts';
import type { Channels } from '../channels/channels.ts';
import { webhookError } from '../channels/slack.ts';
import { testMessage } from '../channels/test-message.ts';
import { countMessage, type ReachedCap } from '../message-caps.ts';
import { deliver } from './deliver.ts';
import { type Provider, ProviderEntity } from './provider.entity.ts';
import { applyFields, rejectFieldsOfOtherTypes, rejectOtherType } from './provider.fields.ts';
import { providerView } from './provider.view.ts';

type ProviderOperations = Pick<
  operations,
  'listProviders' | 'createProvider' | 'showProvider' | 'updateProvider' | 'deleteProvider' | 'testProvider'
>;

export interface ProviderDeps {
  maxProviders: number;
  smsPerUserPerDay: number;
  cipher: SecretCipher;
  channels: Channels;
  limiters: Limiters;
}

export function providerRules({ slackHosts }: { slackHosts: string[] }): Rules<ProviderOperations> {
  const webhookErrors = (url: unknown): ValidationError[] => {
    const message = typeof url === 'string' && !/^\*{4}.{4}$/.test(url) ? webhookError(url, slackHosts) : undefined;
    return message === undefined ? [] : [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message }];
  };
  return {
    createProvider: (body) => webhookErrors('webhook_url' in body ? body.webhook_url : undefined),
    updateProvider: ({ webhook_url }) => webhookErrors(webhook_url),
  };
}

export function providerHandlers(deps: ProviderDeps): Handlers<ProviderOperations, UserDatabase> {
  const { maxProviders, smsPerUserPerDay, cipher, channels, limiters } = deps;
  const testsPerProvider = limiters.create('test-provider', 5, 60);
  const testsPerUser = limiters.create('test-user', 20, 3600);
  return {
    async listProviders({ query: { page, pageSize }, url }, { db }) {
      const [providers, counted] = await db.query(...selectPage(ProviderEntity, { orderBy: 'id desc', page, pageSize }));
      return { body: { data: providers.map(providerView), ...pageMeta(url, { page, pageSize, counted }) } };
    },

    async createProvider({ body }, { caller: { userId }, db }) {
      const { provider_type: providerType, ...fields } = body;
      const provider = await db.transaction(async (em) => {
        await lockQuota(em, userId, 'providers');
        if ((await em.count(ProviderEntity)) >= maxProviders) {
          throw new ProblemError('quota_exceeded', `A user can have at most ${maxProviders} providers.`);
        }
        // Secrets are bound to the id, so the id is assigned before the insert.
        const [next] = await em.execute<{ id: number }[]>(`select nextval('providers_id_seq') as id`);
        const created = em.create(ProviderEntity, { id: Number(next?.id), userId, providerType });
        applyFields(created, fields, cipher);
        await em.flush();
        return created;
      });
      return { ...providerResult(provider), location: `/api/providers/${provider.id}`, created: { name: 'provider', id: provider.id } };
    },

    async showProvider({ path }, { db }) {
      return providerResult(await readById(db, ProviderEntity, path.id));
    },

    async updateProvider({ path, body }, { db, requireVersion }) {
      const { provider_type: providerType, ...fields } = body;
      const provider = await db.transaction(async (em) => {
        const found = await findById(em, ProviderEntity, path.id, { lock: true });
        requireVersion(providerVersion(found));
        rejectOtherType(providerType, found.providerType);
        rejectFieldsOfOtherTypes(fields, found.providerType);
        applyFields(found, fields, cipher);
        if (Object.keys(fields).length > 0) {
          found.version++;
          found.updatedAt = new Date();
          await em.flush();
        }
        return found;
      });
      return providerResult(provider);
    },

    async deleteProvider({ path }, { db, requireVersion }) {
      await db.transaction(async (em) => {
        requireVersion(providerVersion(await findById(em, ProviderEntity, path.id, { lock: true })));
        // Assignments are deleted by cascade.
        await em.nativeDelete(ProviderEntity, { id: path.id });
      });
      return { body: { id: path.id, object: 'provider', deleted: true } };
    },

    async testProvider({ path }, { caller, db }) {
      const provider = await readById(db, ProviderEntity, path.id);
      await enforceLimit(testsPerProvider, String(provider.id), 'A provider can be tested 5 times per minute.');
      await enforceLimit(testsPerUser, String(caller.userId), 'A user can send 20 test notifications per hour.');
      const { providerType: type } = provider;
      const isDisabled = type === 'sms' && smsPerUserPerDay === 0;
      const missing = isDisabled ? 'SMS_PER_USER_PER_DAY' : channels[type].missingSetting();
      if (missing)
        throw new ProblemError(
          'delivery_not_configured',
          `${mediumOf[type]} delivery is not configured on this service. Ask the operator to set ${missing}.`,
        );
      const message = { userId: caller.userId, providerId: provider.id, channel: type, smsPerUserPerDay };
      const reached = await db.transaction((em) => countMessage(em, message));
      if (reached) throw limitReached(reached);
      try {
        await deliver(provider, testMessage(type), channels, cipher);
      } catch (error) {
        if (error instanceof DeliveryFailed) throw new ProblemError('delivery_failed', error.message);
        throw error;
      }
      return { body: { message: `The test notification was accepted by ${acceptedBy[type]}.` } };
    },
  };
}

const acceptedBy = { email: 'the mail server', slack: 'Slack', telegram: 'Telegram', sms: 'the SMS service' };
const mediumOf = { email: 'E-mail', slack: 'Slack', telegram: 'Telegram', sms: 'SMS' };

function limitReached({ cap, secondsLeft }: ReachedCap): RetryLaterError {
  const seconds = `${secondsLeft} ${secondsLeft === 1 ? 'second' : 'seconds'}`;
  return new RetryLaterError('rate_limited', `You have reached the limit of ${cap}. It starts again in ${seconds}.`, secondsLeft);
}

function providerResult(provider: Provider) {
  return { body: { data: providerView(provider) }, version: providerVersion(provider) };
}

function providerVersion({ id, version }: Provider): ResourceVersion {
  return { kind: 'provider', id, number: version };
}
