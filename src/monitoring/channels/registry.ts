import type { DeliverySettings } from '../../config/config.ts';
import type { Net } from '../../net/resolve.ts';
import { type Channel, type ChannelDeps, type ChannelSettings, DeliveryFailed, type Limits, type ProviderType } from './channel.ts';
import { discordChannel } from './discord/discord.channel.ts';
import { emailChannel } from './email/email.channel.ts';
import { pagerDutyChannel } from './pagerduty/pagerduty.channel.ts';
import { slackChannel } from './slack/slack.channel.ts';
import { smsChannel } from './sms/sms.channel.ts';
import { teamsChannel } from './teams/teams.channel.ts';
import { telegramChannel } from './telegram/telegram.channel.ts';
import { webhookChannel } from './webhook/webhook.channel.ts';

/** One channel for each provider type of the contract. */
export type ChannelRegistry = { readonly [Type in ProviderType]: Channel<ChannelSettings<Type>> };

/** The same for code that knows a type only at run time, and so not its settings. */
export type Channels = Readonly<Record<ProviderType, Channel>>;

/** The types whose receivers keep an incident open until they are told that it has ended. */
export const typesWithIncidents: readonly ProviderType[] = ['pagerduty'];

const defaultLimits: Limits = { timeoutMs: 10_000, maxBytes: 64 * 1024 };

/** Creates the channel of each provider type. A type of the contract that is missing here does not compile. */
export function createChannels(settings: DeliverySettings, net: Net, limits: Partial<Limits> = {}): ChannelRegistry {
  const deps: ChannelDeps = { settings, net, limits: { ...defaultLimits, ...limits } };
  return {
    email: emailChannel(deps),
    slack: slackChannel(deps),
    telegram: telegramChannel(deps),
    sms: smsChannel(deps),
    discord: discordChannel(deps),
    teams: teamsChannel(deps),
    pagerduty: pagerDutyChannel(deps),
    webhook: webhookChannel(deps),
  };
}

/** Returns the channel of a stored provider. Its type is unknown to this version if a newer one has stored it. */
export function channelOf(channels: Channels, type: ProviderType): Channel {
  return channels[type] ?? unknownChannel(type);
}

/** It has no fields, so that none is shown: they may be secrets. */
function unknownChannel(type: string): Channel {
  const reason = `This version of the service does not know the provider type ${type}.`;
  return {
    name: type,
    receiver: type,
    fields: {},
    audience: 'people',
    missingSetting: () => undefined,
    send: () => Promise.reject(new DeliveryFailed(reason, { permanent: false })),
  };
}
