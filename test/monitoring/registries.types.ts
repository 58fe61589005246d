// The compiler checks this file; it never runs. Each type of the contract needs its line in a registry, and nothing else has one.
import type { components, operations } from '../../generated/types/monitoring.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Channel, ChannelSettings, ProviderType } from '../../src/monitoring/channels/channel.ts';
import { type ChannelRegistry, createChannels } from '../../src/monitoring/channels/registry.ts';
import type { MonitorCheck, MonitorType } from '../../src/monitoring/checks/check.ts';
import { type CheckRegistry, checks } from '../../src/monitoring/checks/registry.ts';

type Schemas = components['schemas'];
type IsSame<A, B> = [A, B] extends [B, A] ? true : false;

/** The registries have exactly the types that the contract allows in requests and responses. */
export const typesOfTheContract: [
  IsSame<keyof CheckRegistry, NonNullable<Schemas['MonitorCreate']['type']>>,
  IsSame<keyof CheckRegistry, Schemas['Monitor']['type']>,
  IsSame<keyof ChannelRegistry, Schemas['ProviderCreate']['provider_type']>,
  IsSame<keyof ChannelRegistry, Schemas['Provider']['provider_type']>,
  IsSame<keyof ChannelRegistry, NonNullable<Schemas['ProviderUpdate']['provider_type']>>,
  IsSame<keyof CheckRegistry, NonNullable<NonNullable<operations['listMonitors']['parameters']['query']>['type']>>,
] = [true, true, true, true, true, true];

const { ping, ...otherChecks } = checks;
// @ts-expect-error The type ping has no check.
export const missingCheck: CheckRegistry = otherChecks;
// @ts-expect-error The contract has no type smoke-signal.
export const unknownCheck: CheckRegistry = { ...checks, 'smoke-signal': ping };
// @ts-expect-error If the contract had a type pigeon, its check would be missing.
export const newType: Record<MonitorType | 'pigeon', MonitorCheck> = checks;

const channels = createChannels(readConfig({}).delivery, { allow: [] });
const { sms, ...otherChannels } = channels;
// @ts-expect-error The type sms has no channel.
export const missingChannel: ChannelRegistry = otherChannels;
// @ts-expect-error The contract has no type fax.
export const unknownChannel: ChannelRegistry = { ...channels, fax: sms };
// @ts-expect-error The channel of another type has other settings.
export const swappedChannel: ChannelRegistry = { ...channels, telegram: sms };
// @ts-expect-error If the contract had a type pigeon, its channel would be missing.
export const newChannel: Record<ProviderType | 'pigeon', Channel> = channels;
// @ts-expect-error Every field of the contract must be declared: token is missing.
export const missingField: Channel<ChannelSettings<'telegram'>>['fields'] = { chat_id: 'plain' };
