import { sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { repeatAfterDeadlock } from '../../db/repeat-after-deadlock.ts';
import { prepare, type Query, queryInTransaction } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { futureTimeError } from '../../db/times.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, NotFound, type ValidationError } from '../../errors.ts';
import type { Handlers, Rules } from '../../http/operations.ts';
import { assignProvider, unassignProvider } from '../notifications/bulk-assignments.ts';
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
    changeMonitors: (body) => ({ errors: [...selectionErrors(body), ...argumentErrors(body), ...untilErrors(body, now())] }),
  };
}

export const bulkHandlers: Handlers<BulkOperations, UserDatabase> = {
  async changeMonitors({ body }, { caller: { userId }, db }) {
    const data = await repeatAfterDeadlock(() =>
      db.transaction(async (em) => {
        const query = queryInTransaction(em);
        const [monitors] = await query(lockMonitors({ ids: body.ids, tag: body.tag }));
        const ids = monitors.map(({ id }) => id);
        return { matched: ids.length, changed: await apply(query, body, ids, userId) };
      }),
    ).catch((error: unknown) => {
      // The provider was deleted in the meantime. The message of the error names the constraint.
      throw String(error).includes('provider_id_fkey') ? new NotFound('Provider', body.provider_id ?? 0) : error;
    });
    return { body: { data } };
  },
};

/** Locks the monitors in the order of their ids, so that two requests do not wait for each other. */
const lockMonitors = prepare((given: { ids: number[] | undefined; tag: string | undefined }) =>
  tables<typeof MonitorEntity>()
    .selectFrom('monitors')
    .select('id')
    .where(sql<boolean>`(id = any (${given.ids}::bigint[]) or ${given.tag}::text = any (tags))`)
    .orderBy('id')
    .forUpdate(),
);

/** Returns how many monitors have changed. */
async function apply(query: Query, body: Body, ids: number[], userId: number): Promise<number> {
  const { action, provider_id: providerId = 0, tags = [] } = body;
  switch (action) {
    case 'pause':
    case 'resume':
      return change(query, ids, { isActive: action === 'resume' });
    case 'start_maintenance':
    case 'end_maintenance':
      return change(query, ids, { maintenanceUntil: body.until === undefined ? null : new Date(body.until) });
    case 'delete':
      return (await query(deleteMonitors({ ids })))[0].length;
    case 'assign':
    case 'unassign': {
      const assignment = { userId, ids, providerId };
      const changed = await (action === 'assign' ? assignProvider(query, assignment) : unassignProvider(query, assignment));
      if (changed === undefined) throw new NotFound('Provider', providerId);
      return changed;
    }
    case 'add_tags':
      return countTagged((await query(addTags({ ids, tags })))[0]);
    case 'remove_tags':
      return countTagged((await query(removeTags({ ids, tags })))[0]);
  }
}

async function change(query: Query, ids: number[], settings: { isActive: boolean } | { maintenanceUntil: Date | null }): Promise<number> {
  const [changed] = await query(updateMonitors({ ids, ...settings }));
  await query(...afterReset(changed.map(({ id }) => id)));
  return changed.length;
}

const maxTags = 20;

/** Throws, and so rolls the transaction back, if a monitor has too many tags. */
function countTagged(monitors: { id: number; tags: string[] }[]): number {
  const tooMany = monitors.find(({ tags }) => tags.length > maxTags);
  if (tooMany) {
    const message = `would give monitor ${tooMany.id} more than ${maxTags} tags`;
    throw new InvalidRequest([{ in: 'body', pointer: '/tags', code: 'max_items', message }]);
  }
  return monitors.length;
}

function selectionErrors({ ids, tag }: Partial<Body>): ValidationError[] {
  if (ids === undefined && tag === undefined) return [{ in: 'body', pointer: '/ids', code: 'required', message: 'is required, or tag' }];
  if (ids === undefined || tag === undefined) return [];
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
