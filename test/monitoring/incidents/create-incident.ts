import type { TestService, TestUser } from '../../support/service.ts';

/** Creates an incident as the engine does. `started` and `resolved` are intervals before now. An open incident is not resolved. */
export async function createIncident(
  { database }: TestService,
  user: Pick<TestUser, 'id'>,
  { monitorId, started = '1 hour', resolved = null, cause = 'HTTP 503' }: IncidentFields,
): Promise<number> {
  const [incident] = await database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
       values (?, ?, app_now() - ?::interval, app_now() - ?::interval, ?, 503) returning id`,
      [user.id, monitorId, started, resolved, cause],
    ),
  );
  return Number(incident?.id);
}

interface IncidentFields {
  monitorId: number;
  started?: string;
  resolved?: string | null;
  cause?: string;
}

/** Resolves an incident as the engine does. */
export async function resolveIncident({ database }: TestService, id: number): Promise<void> {
  await database.asEngine((em) => em.execute('update incidents set resolved_at = app_now() where id = ?', [id], 'run'));
}
