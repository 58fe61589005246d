import { expect, test } from 'vitest';
import { chooseProviders } from '../../../src/monitoring/alerts/choose-providers.ts';
import type { ProviderType } from '../../../src/monitoring/channels/channel.ts';

let lastId = 0;
const providersOf = (userId: number, count: number, channel: ProviderType = 'email') =>
  Array.from({ length: count }, () => ({ userId, providerId: ++lastId, channel }));
const slotsOf = (chosen: { userId: number }[], userId: number) => chosen.filter((provider) => provider.userId === userId).length;

test('a user alone gets 40 of the 50 slots of a channel, for the providers that have waited longest', () => {
  const waiting = providersOf(1, 100);
  expect(chooseProviders(waiting, [])).toEqual(waiting.slice(0, 40));
});

test('users share the slots of a channel', () => {
  const chosen = chooseProviders([...providersOf(1, 100), ...providersOf(2, 100), ...providersOf(3, 2)], []);
  expect([1, 2, 3].map((userId) => slotsOf(chosen, userId))).toEqual([16, 16, 2]);
});

test('a user whose deliveries hang gets no more slots, and another user does', () => {
  const chosen = chooseProviders([...providersOf(1, 20), ...providersOf(2, 3)], providersOf(1, 40));
  expect([1, 2].map((userId) => slotsOf(chosen, userId))).toEqual([0, 3]);
});

test('each channel has its own slots', () => {
  const chosen = chooseProviders([...providersOf(1, 60, 'sms'), ...providersOf(1, 5, 'slack')], providersOf(1, 40, 'email'));
  expect(chosen.map(({ channel }) => channel)).toEqual([...Array(40).fill('sms'), ...Array(5).fill('slack')]);
});
