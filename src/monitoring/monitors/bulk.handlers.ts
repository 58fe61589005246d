import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { repeatAfterDeadlock } from '../../db/repeat-after-deadlock.ts';
import { prepare, type Query, queryInTransaction } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { futureTimeError } from '../../db/times.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, NotFound, type ValidationError } from '../../errors.ts';
import type { Handlers, Rules } from '../../http/operations.ts';
import { assignProvider, hasProvider, unassignProvider } from '../notifications/bulk-assignments.ts';
import { afterReset } from './after-reset.ts';
import type { MonitorEntity } from './monitor.entity.ts';
import { addTags, deleteMonitors, removeTags, updateMonitors } from './monitor.writes.ts';

type BulkOperations = Pick<operations, 'changeMonitors'>;
type Body = operations['changeMonitors']['requestBody']['content']['application/json'];
type Argument = 'until' | 'provider_id' | 'tags';

/** The argument that each action needs. It accepts no other. */
const argumentOf: Record<Body['action'], Argument | undefined> = {
  pause: undefined,
  resume: undefined,
  delete: undefined,
  start_maintenance: 'until',
  end_maintenance: undefined,
  assign: 'provider_id',
  unassign: 'provider_id',
  add_tags: 'tags',
  remove_tags: 'tags',
};
const allArguments: Argument[] = ['until', 'provider_id', 'tags'];

export function bulkRules({ now }: { now(): number }): Rules<BulkOperations> {
  return {
    changeMonitors: (body, sent) => ({ errors: [...selectionErrors(sent), ...argumentErrors(body), ...untilErrors(body, now())] }),
  };
}

export const bulkHandlers: Handlers<BulkOperations, UserDatabase> = {
  async changeMonitors({ body }, { caller: { userId }, db }) {
    const data = await repeatAfterDeadlock(() =>
      db.transaction(async (em) => {
        const query = queryInTransaction(em);
        // All are locked before the first one changes, in the order of their ids, so that two requests do not wait for each other.
        const ids = await lockMonitors(query, body);
        const changed = await changeMonitors(query, body, ids, userId);
        return { matched: ids.length, changed };
      }),
    ).catch((error: unknown) => {
      // The provider was deleted in the meantime. The message of the error names the constraint.
      throw String(error).includes('provider_id_fkey') ? new NotFound('Provider', body.provider_id ?? 0) : error;
    });
    return { body: { data } };
  },
};

/**
 * The embedded database runs a statement in this process, which responds to nobody else in the meantime. So a statement locks or changes
 * only so many monitors, and other events get their turn before the next one.
 */
const lockedAtOnce = 500;
const changedAtOnce = 50;
/** More, because most monitors have no open incident and no alert that waits. */
const resetAtOnce = 200;

/** Locks the monitors in the order of their ids, so that two requests do not wait for each other. Returns their ids. */
async function lockMonitors(query: Query, { ids, tag }: Pick<Body, 'ids' | 'tag'>): Promise<number[]> {
  const locked: number[] = [];
  for (let count = lockedAtOnce; count === lockedAtOnce; ) {
    const [monitors] = await query(selectLocked({ ids, tag, after: locked.at(-1) ?? 0 }));
    count = monitors.length;
    for (const { id } of monitors) locked.push(id);
    await nextTurn();
  }
  return locked;
}

const selectLocked = prepare((given: { ids: number[] | undefined; tag: string | undefined; after: number }) =>
  tables<typeof MonitorEntity>()
    .selectFrom('monitors')
    .select('id')
    .where(sql<boolean>`(id = any (${given.ids}::bigint[]) or ${given.tag}::text = any (tags))`)
    .where('id', '>', given.after)
    .orderBy('id')
    .limit(sql.lit(lockedAtOnce))
    .forUpdate(),
);

/** Returns how many monitors have changed. */
async function changeMonitors(query: Query, body: Body, ids: number[], userId: number): Promise<number> {
  const { action, provider_id: providerId = 0, tags = [] } = body;
  switch (action) {
    case 'pause':
    case 'resume':
      return changeSettings(query, ids, { isActive: action === 'resume' });
    case 'start_maintenance':
    case 'end_maintenance':
      return changeSettings(query, ids, { maintenanceUntil: body.until === undefined ? null : new Date(body.until) });
    case 'delete':
      return sumOf(ids, (portion) => deleteMonitors(query, portion));
    case 'assign':
    case 'unassign': {
      if (!(await hasProvider(query, providerId))) throw new NotFound('Provider', providerId);
      const change = action === 'assign' ? assignProvider : unassignProvider;
      return sumOf(ids, (portion) => change(query, { userId, ids: portion, providerId }));
    }
    case 'add_tags':
      return sumOf(ids, async (portion) => countTagged((await query(addTags({ ids: portion, tags })))[0]));
    case 'remove_tags':
      return sumOf(ids, async (portion) => countTagged((await query(removeTags({ ids: portion, tags })))[0]));
  }
}

async function changeSettings(query: Query, ids: number[], settings: { isActive: boolean } | { maintenanceUntil: Date | null }) {
  const changed: number[] = [];
  await inPortions(ids, changedAtOnce, async (portion) => {
    for (const { id } of (await query(updateMonitors({ ids: portion, ...settings })))[0]) changed.push(id);
  });
  await inPortions(changed, resetAtOnce, async (portion) => {
    for (const statement of afterReset(portion)) {
      await query(statement);
      await nextTurn();
    }
  });
  return changed.length;
}

async function sumOf(ids: number[], change: (portion: number[]) => Promise<number>): Promise<number> {
  let sum = 0;
  await inPortions(ids, changedAtOnce, async (portion) => {
    sum += await change(portion);
  });
  return sum;
}

/** Works on some of the monitors at a time. Other events get their turn in between. */
async function inPortions(ids: number[], size: number, work: (portion: number[]) => Promise<void>): Promise<void> {
  for (let start = 0; start < ids.length; start += size) {
    await work(ids.slice(start, start + size));
    await nextTurn();
  }
}

const maxTags = 20;

/** Throws, and so rolls the transaction back, if a monitor has too many tags. */
function countTagged(monitors: { id: number; tagCount: number }[]): number {
  const tooMany = monitors.find(({ tagCount }) => tagCount > maxTags);
  if (tooMany) {
    const message = `would give monitor ${tooMany.id} more than ${maxTags} tags`;
    throw new InvalidRequest([{ in: 'body', pointer: '/tags', code: 'max_items', message }]);
  }
  return monitors.length;
}

function selectionErrors(sent: ReadonlySet<string>): ValidationError[] {
  const [hasIds, hasTag] = [sent.has('ids'), sent.has('tag')];
  if (!hasIds && !hasTag) return [{ in: 'body', pointer: '/ids', code: 'required', message: 'is required, unless there is a tag' }];
  if (!hasIds || !hasTag) return [];
  return [{ in: 'body', pointer: '/tag', code: 'contradiction', message: 'must be absent if there are ids' }];
}

function argumentErrors(body: Partial<Body>): ValidationError[] {
  const { action } = body;
  if (action === undefined) return [];
  const needed = argumentOf[action];
  const isMissing = needed !== undefined && body[needed] === undefined;
  const others = allArguments.filter((argument) => argument !== needed && body[argument] !== undefined);
  return [
    ...(isMissing ? [{ in: 'body' as const, pointer: `/${needed}`, code: 'required', message: `is required for ${action}` }] : []),
    ...others.map((argument) => ({
      in: 'body' as const,
      pointer: `/${argument}`,
      code: 'field_of_other_action',
      message: `is not allowed for ${action}`,
    })),
  ];
}

function untilErrors({ until }: Partial<Body>, nowMs: number): ValidationError[] {
  if (until === undefined) return [];
  const error = futureTimeError(new Date(until), nowMs);
  return error ? [{ in: 'body', pointer: '/until', ...error }] : [];
}
