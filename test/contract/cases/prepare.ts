import { pathOf, type ValidRequest, validRequest } from '../../support/valid-requests.ts';
import { type Case, titleOf } from './cases.ts';
import { authorization, type Draft } from './draft.ts';
import type { TestEnvironment } from './environment.ts';
import { setups } from './setups.ts';

/**
 * Builds the request that causes the response of a case, and creates everything that it needs. Each case has its own user.
 * `given` is the part of the request that Dredd has read from the contract.
 */
export async function prepare(
  testCase: Case,
  environment: TestEnvironment,
  given: Partial<Pick<ValidRequest, 'headers' | 'query'>> = {},
): Promise<Draft> {
  const { operation, status, responseExample, requestExample } = testCase;
  const user = await environment.main.createUser();
  const sender = { service: environment.main, user };
  const valid = await validRequest(operation.id, sender, requestExample);
  const credentials = operation.credentials.includes('bearerKey') ? await authorization(user) : valid.headers;
  const request = { ...valid, ...given, headers: { ...given.headers, ...credentials } };
  const draft: Draft = { ...testCase, ...sender, environment, request, owner: user };
  await useCurrentETag(draft);
  const response = responseExample?.name ?? status;
  const setup = setups[`${operation.id} ${response}`] ?? setups[response];
  if (!setup && status >= 300) throw new Error(`setups.ts has no setup for ${titleOf(testCase)}.`);
  await setup?.(draft);
  useFieldsInQuery(draft);
  await setMonitorStates(draft);
  return draft;
}

/** The ETag in the contract's example belongs to the example's resource. */
async function useCurrentETag({ user, operation, request }: Draft) {
  if (!('If-Match' in request.headers)) return;
  const { headers } = await user.api.get(pathOf(operation, request));
  request.headers['If-Match'] = headers.get('ETag') ?? '';
}

/** A field that can be in the query or in the body must have the same value in both. */
function useFieldsInQuery({ request: { query = {}, json = {} } }: Draft) {
  for (const name of Object.keys(query)) if (name in json) query[name] = String(json[name]);
}

/** Sets the user's monitors, newest first, to the states that the example shows. Real checks would take minutes. */
async function setMonitorStates({ responseExample, environment, user }: Draft) {
  const items = [responseExample?.value.data ?? []].flat() as { status?: string }[];
  const states = items.map(({ status }) => status).filter((status) => status === 'up' || status === 'down');
  if (states.length === 0) return;
  await environment.main.database.asUser(user.id, (em) =>
    em.execute(
      `update monitors m set status = s.status, last_checked_at = now(), last_response_time_ms = 97
         from (select id, (?::text[])[row_number() over (order by id desc)] as status from monitors) s
        where m.id = s.id and s.status is not null`,
      [`{${states}}`],
      'run',
    ),
  );
}
