import type { ProviderType } from '../channels/channel.ts';
import { countBy, shareSlots } from '../fair-share.ts';
import type { WaitingProvider } from './due-alerts.ts';

/** The slots of each channel. They are not shared, so that a channel whose servers hang delays only itself. */
const slotsPerChannel = 50;

/** Shares the free slots of each channel among the users whose providers wait. `sending` are the providers that occupy the others. */
export function chooseProviders(waiting: WaitingProvider[], sending: { userId: number; channel: ProviderType }[]): WaitingProvider[] {
  return [...Map.groupBy(waiting, ({ channel }) => channel)].flatMap(([channel, inChannel]) => {
    const occupied = sending.filter((provider) => provider.channel === channel);
    const held = countBy(occupied, ({ userId }) => userId);
    const byUser = Map.groupBy(inChannel, ({ userId }) => userId);
    const shares = shareSlots([...byUser.keys()], held, slotsPerChannel - occupied.length);
    return [...shares].flatMap(([userId, slots]) => byUser.get(userId)?.slice(0, slots) ?? []);
  });
}
