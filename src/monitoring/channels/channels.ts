import type { DeliverySettings } from '../../config/config.ts';
import type { Net } from '../../net/resolve.ts';
import type { Channel, Limits, ProviderType, Targets } from './channel.ts';
import { emailChannel } from './email.ts';
import { slackChannel } from './slack.ts';
import { smsChannel } from './sms.ts';
import { telegramChannel } from './telegram.ts';

/** The channel of each provider type. */
export type Channels = { readonly [Type in ProviderType]: Channel<Targets[Type]> };

const defaultLimits: Limits = { timeoutMs: 10_000, maxBytes: 64 * 1024 };

export function createChannels(settings: DeliverySettings, net: Net, limits: Partial<Limits> = {}): Channels {
  const all = { ...defaultLimits, ...limits };
  return {
    email: emailChannel(settings, all),
    slack: slackChannel(settings, net, all),
    telegram: telegramChannel(settings, all),
    sms: smsChannel(settings, all),
  };
}
