import type { operations } from '../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import { prepareRead } from '../../db/rows.ts';
import { queryInTransaction } from '../../db/statement.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { ProblemError, RetryLaterError } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { enforceLimit, type Limiters } from '../../limits/limiters.ts';
import { countMessage, type ReachedLimit } from '../alerts/message-limits.ts';
import { logTest } from '../alerts/test-log.ts';
import { DeliveryFailed } from '../channels/channel.ts';
import { type Channels, channelOf } from '../channels/registry.ts';
import { testMessage } from '../channels/test-message.ts';
import { addressOf, type Recipients } from '../recipients/recipients.ts';
import { wakeDispatcher } from '../wake.ts';
import { ProviderEntity } from './provider.entity.ts';
import { decryptSettings } from './provider.settings.ts';
import { unconfirmedRecipient } from './provider.view.ts';
import { signingOf } from './signing-secret.ts';

export interface TestDeps {
  cipher: SecretCipher;
  channels: Channels;
  limiters: Limiters;
  recipients: Recipients;
  /** The time on the clock of the database. */
  now(): number;
}

const readProvider = prepareRead(ProviderEntity);

export function testProviderHandlers({
  cipher,
  channels,
  limiters,
  recipients,
  now,
}: TestDeps): Handlers<Pick<operations, 'testProvider'>, UserDatabase> {
  const testsPerProvider = limiters.create('test-provider', 5, 60);
  const testsPerUser = limiters.create('test-user', 20, 3600);

  return {
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
      const log = (reason: string | null) => logTest(db.query, { userId, providerId: provider.id, event: message.event, reason });
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
  };
}

function limitReached({ limit, secondsLeft }: ReachedLimit): RetryLaterError {
  const seconds = `${secondsLeft} ${secondsLeft === 1 ? 'second' : 'seconds'}`;
  return new RetryLaterError('rate_limited', `You have reached the limit of ${limit}. It starts again in ${seconds}.`, secondsLeft);
}
