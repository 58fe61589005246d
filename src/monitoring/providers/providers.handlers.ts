import type { operations } from '../../../generated/types/monitoring.ts';
import { type Limiters, limitUse } from '../../access/limiters.ts';
import { lockQuota } from '../../access/quota.ts';
import type { Vault } from '../../access/vault.ts';
import { findOwn } from '../../db/find-own.ts';
import { readOwn, selectPage } from '../../db/statement.ts';
import { type Fault, Refusal } from '../../errors.ts';
import type { Handlers, Rules } from '../../http/operations.ts';
import { pageOf } from '../../paging.ts';
import { DeliveryFailed } from '../channels/channel.ts';
import type { Channels } from '../channels/channels.ts';
import { testMessage } from '../channels/messages.ts';
import { refuseWebhook } from '../channels/slack.ts';
import { deliver } from './deliver.ts';
import { type Provider, ProviderEntity } from './provider.entity.ts';
import { applyFields, refuseForeignFields } from './provider.fields.ts';
import { providerView } from './provider.view.ts';

type ProviderOperations = Pick<
  operations,
  'listProviders' | 'createProvider' | 'showProvider' | 'updateProvider' | 'deleteProvider' | 'testProvider'
>;

interface Parts {
  maxProviders: number;
  slackHosts: string[];
  vault: Vault;
  channels: Channels;
  limiters: Limiters;
}

export function providerRules({ slackHosts }: Pick<Parts, 'slackHosts'>): Rules<ProviderOperations> {
  const webhookFaults = (url: unknown): Fault[] => {
    const message = typeof url === 'string' && !/^\*{4}.{4}$/.test(url) ? refuseWebhook(url, slackHosts) : undefined;
    return message === undefined ? [] : [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message }];
  };
  return {
    createProvider: (body) => webhookFaults('webhook_url' in body ? body.webhook_url : undefined),
    updateProvider: ({ webhook_url }) => webhookFaults(webhook_url),
  };
}

export function providerHandlers({ maxProviders, vault, channels, limiters }: Parts): Handlers<ProviderOperations> {
  const testsOfProvider = limiters.create('test-provider', 5, 60);
  const testsOfUser = limiters.create('test-user', 20, 3600);
  return {
    async listProviders({ query: { page, pageSize }, url }, { ask }) {
      const [providers, counted] = await ask(...selectPage(ProviderEntity, { orderBy: 'id desc', page, pageSize }));
      return { body: { data: providers.map(providerView), ...pageOf(url, { page, pageSize, counted }) } };
    },

    async createProvider({ body }, { caller: { userId }, asUser }) {
      const { provider_type: providerType, ...fields } = body;
      const provider = await asUser(async (em) => {
        await lockQuota(em, userId, 'providers');
        if ((await em.count(ProviderEntity)) >= maxProviders) {
          throw new Refusal('quota_exceeded', `A user may have at most ${maxProviders} providers.`);
        }
        // Its secrets are bound to its id, so the id comes first.
        const [next] = await em.execute<{ id: number }[]>(`select nextval('providers_id_seq') as id`);
        const created = em.create(ProviderEntity, { id: Number(next?.id), userId, providerType });
        applyFields(created, fields, vault);
        await em.flush();
        return created;
      });
      return { ...providerReply(provider), location: `/api/providers/${provider.id}` };
    },

    async showProvider({ path }, { ask }) {
      return providerReply(await readOwn(ask, ProviderEntity, path.id));
    },

    async updateProvider({ path, body }, { asUser, requireVersion }) {
      const provider = await asUser(async (em) => {
        const found = await findOwn(em, ProviderEntity, path.id, { lock: true });
        requireVersion(String(found.version));
        refuseForeignFields(body, found.providerType);
        applyFields(found, body, vault);
        if (Object.keys(body).length > 0) {
          found.version++;
          found.updatedAt = new Date();
          await em.flush();
        }
        return found;
      });
      return providerReply(provider);
    },

    async deleteProvider({ path }, { asUser, requireVersion }) {
      await asUser(async (em) => {
        const { version } = await findOwn(em, ProviderEntity, path.id, { lock: true });
        requireVersion(String(version));
        // Its assignments go along.
        await em.nativeDelete(ProviderEntity, { id: path.id });
      });
      return { body: { id: path.id, object: 'provider', deleted: true } };
    },

    async testProvider({ path }, { caller, ask }) {
      const provider = await readOwn(ask, ProviderEntity, path.id);
      await limitUse(testsOfProvider, String(provider.id), 'A provider can be tested 5 times a minute.');
      await limitUse(testsOfUser, String(caller.userId), 'A user can send 20 tests an hour.');
      const { providerType: type } = provider;
      const missing = channels[type].missingSetting();
      if (missing)
        throw new Refusal(
          'delivery_not_configured',
          `The operator of this service has not set ${missing}, so nothing can be sent this way.`,
        );
      try {
        await deliver(provider, testMessage(type), channels, vault);
      } catch (error) {
        if (error instanceof DeliveryFailed) throw new Refusal('delivery_failed', error.message);
        throw error;
      }
      return { body: { message: `The test notification was accepted by ${acceptedBy[type]}.` } };
    },
  };
}

const acceptedBy = { email: 'the mail server', slack: 'Slack', telegram: 'Telegram', sms: 'the SMS service' };

function providerReply(provider: Provider) {
  return { body: { data: providerView(provider) }, version: String(provider.version) };
}
