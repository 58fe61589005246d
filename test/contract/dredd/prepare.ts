import { validRequest } from '../../support/valid-requests.ts';
import { type Case, titleOf } from './cases.ts';
import { authorization, type Draft } from './draft.ts';
import { situations } from './situations.ts';
import type { World } from './world.ts';

/** The request that brings a case about, with everything done that must come before it. Each has a user of its own. */
export async function prepare(tried: Case, world: World): Promise<Draft> {
  const user = await world.main.createUser();
  const sender = { service: world.main, user };
  const request = await validRequest(tried.operation.id, sender, tried.sends);
  if (tried.operation.credentials.includes('bearerKey')) request.headers = await authorization(user);
  const draft: Draft = { ...tried, ...sender, world, request, owner: user };
  const situation =
    situations[`${tried.operation.id} ${tried.answer?.name ?? tried.status}`] ?? situations[tried.answer?.name ?? tried.status];
  if (!situation && tried.status >= 300) throw new Error(`Nobody said how to bring about ${titleOf(tried)}.`);
  await situation?.(draft);
  await setStates(draft);
  return draft;
}

/** Puts the user's monitors, the newest first, into the states that the example shows: what checks would do in minutes. */
async function setStates({ answer, world, user }: Draft) {
  const items = [answer?.value.data ?? []].flat() as { status?: string }[];
  const states = items.map(({ status }) => status).filter((status) => status === 'up' || status === 'down');
  if (states.length === 0) return;
  await world.main.database.asUser(user.id, (em) =>
    em.execute(
      `update monitors m set status = s.status, last_checked_at = now(), last_response_time_ms = 97
         from (select id, (?::text[])[row_number() over (order by id desc)] as status from monitors) s
        where m.id = s.id and s.status is not null`,
      [`{${states}}`],
      'run',
    ),
  );
}
