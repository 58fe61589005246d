/**
 * Shares free slots among users who wait for one, in the order in which they are given: one slot each in turn, to those who
 * hold the fewest first. Returns the number of slots that each user gets.
 *
 * A user who holds `heldPerFreeSlot` times as many slots as are free gets no more. So some slots stay free, however many the
 * others could use, and a user who comes later need not wait until a slow check or delivery of somebody else ends. One user alone
 * can hold 4 of 5 slots; each of 10 users can hold 4 of 41.
 */
export function shareSlots(waiting: readonly number[], held: ReadonlyMap<number, number>, freeSlots: number): Map<number, number> {
  const shares = new Map<number, number>();
  let free = freeSlots;
  let users = waiting.map((userId) => ({ userId, held: held.get(userId) ?? 0 })).toSorted((a, b) => a.held - b.held);
  while (users.length > 0) {
    const remaining: typeof users = [];
    for (const user of users) {
      if (free <= 0 || user.held >= heldPerFreeSlot * free) continue;
      user.held++;
      free--;
      shares.set(user.userId, (shares.get(user.userId) ?? 0) + 1);
      remaining.push(user);
    }
    users = remaining;
  }
  return shares;
}

const heldPerFreeSlot = 4;

/** Counts how many items belong to each key. */
export function countBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
