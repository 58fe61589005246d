// The steps that setups.ts is composed of.
import { addChecks as addToHistory, rollUpHoursOf } from '../../support/check-history.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { type Body, createProvider, encodeBody, withInvalidInput } from '../../support/valid-requests.ts';
import type { WebServer } from '../../support/web-server.ts';
import { type Draft, send } from './draft.ts';

export type Setup = (draft: Draft) => void | Promise<void>;

/** A change for each kind of resource. */
export const changes: Record<string, { form?: Record<string, string>; json?: Body }> = {
  websites: { form: { favorite: '1' } },
  monitors: { json: { friendly_name: 'Changed' } },
  providers: { json: { recipient_email: 'changed@example.com' } },
};

export function withBody(fields: Body): Setup {
  return ({ request, operation }) => void Object.assign(request, encodeBody(operation, { ...request.json, ...request.form, ...fields }));
}

/** Replaces the credentials of the request and leaves its other headers as they are. */
export function setCredentials({ request }: Draft, credentials: Record<string, string>) {
  const { Authorization, Cookie, ...others } = request.headers;
  request.headers = { ...others, ...credentials };
}

export function withHeader(name: string, value: string): Setup {
  return ({ request }) => {
    request.headers[name] = value;
  };
}

export async function useUpSessionLimit(draft: Draft) {
  draft.service = draft.environment.rateLimited;
  await draft.service.anonymous.get('/api/session', { headers: draft.request.headers });
}

export function sendInvalidInput(draft: Draft) {
  draft.request = withInvalidInput(draft.operation, draft.request);
}

export function useRestrictedService(draft: Draft) {
  draft.service = draft.environment.restricted;
}

export async function sendIfNoneMatch(draft: Draft) {
  const { headers } = await send(draft);
  draft.request.headers['If-None-Match'] = headers.get('ETag') ?? '';
}

/** The second request must not be a repetition of the first one. */
export async function sendFirst(draft: Draft) {
  const { 'Idempotency-Key': _, ...headers } = draft.request.headers;
  await send({ ...draft, request: { ...draft.request, headers } });
}

export function showProviderOfType(type: string): Setup {
  return async (draft) => {
    draft.request.parameters = { id: await createProvider(draft, type) };
  };
}

/** Replaces the script of a receiver until the response has arrived. */
export function replaceScript(draft: Draft, server: WebServer, script: WebServer['script']) {
  const original = server.script;
  server.script = script;
  draft.cleanUp = () => {
    server.script = original;
  };
}

/** Adds an incident of the monitor in the path. */
export async function addIncident(draft: Draft, duration: string | null): Promise<void> {
  await addIncidentOf(draft, Number(draft.request.parameters.id), duration);
}

export async function addIncidentOf({ environment, user }: Draft, monitorId: number, duration: string | null): Promise<number> {
  const [incident] = await environment.main.database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
       values (?, ?, now() - interval '1 hour', now() - interval '1 hour' + ?::interval, 'HTTP 503', 503) returning id`,
      [user.id, monitorId, duration],
    ),
  );
  return Number(incident?.id);
}

interface AddedCheck {
  secondsAgo: number;
  up: boolean;
  ms?: number;
  statusCode?: number;
  cause?: string;
}

/** Adds checks of the monitor, as if they had been made at these times, to its history. */
export async function addChecks({ environment, user }: Draft, monitorId: number, outcomes: AddedCheck[]): Promise<void> {
  const { database } = environment.main;
  const nowMs = database.now();
  const checks = outcomes.map(({ secondsAgo, up, ms, statusCode, cause }) => ({
    atMs: Math.round(nowMs - secondsAgo * 1000),
    ms,
    ...(!up && { cause: cause ?? 'connection refused', statusCode }),
  }));
  await addToHistory(database, { userId: user.id, monitorId }, checks);
  await rollUpHoursOf(
    database,
    { userId: user.id, monitorId },
    checks.map(({ atMs }) => atMs),
  );
}

/** A successful check in each of this many periods before now, and two that failed when `addIncident` begins its incident. */
export function checksInEachPeriod(count: number, seconds: number): AddedCheck[] {
  const successes = Array.from({ length: count }, (_, number) => ({ secondsAgo: number * seconds, up: true, ms: 180 }));
  const failures = [3595, 3590].map((secondsAgo) => ({ secondsAgo, up: false, ms: 97, statusCode: 503, cause: 'HTTP 503' }));
  return [...successes, ...failures].toSorted((one, other) => other.secondsAgo - one.secondsAgo);
}

interface AddedDelivery {
  providerId: number;
  kind: 'test' | 'monitor.down' | 'monitor.recovered';
  status: 'queued' | 'sent';
  incidentId?: number;
}

/** Adds a delivery that no service sends, because it is due tomorrow. */
export async function addDelivery({ environment, user }: Draft, { providerId, kind, status, incidentId }: AddedDelivery) {
  const event = kind === 'test' ? { type: kind, timestamp: new Date().toISOString(), data: {} } : sampleEvent({ type: kind });
  await environment.main.database.asEngine((em) =>
    em.execute(
      `insert into alerts (user_id, provider_id, incident_id, kind, payload, status, next_attempt_at, done_at)
       values (?, ?, ?, ?, ?::jsonb, ?, now() + interval '1 day', case when ? = 'sent' then now() end)`,
      [user.id, providerId, incidentId ?? null, kind, JSON.stringify(event), status, status],
      'run',
    ),
  );
}

export function inDays(days: number): string {
  return new Date(Date.now() + days * 24 * 3600 * 1000).toISOString();
}
