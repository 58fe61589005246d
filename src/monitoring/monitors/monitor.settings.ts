import type { operations } from '../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import { timeError } from '../../db/times.ts';
import { InvalidRequest, type ValidationError } from '../../errors.ts';
import type { Ranges } from '../../net/addresses.ts';
import type { MonitorType, SentOptions } from '../checks/check.ts';
import { checkOf, checks } from '../checks/registry.ts';
import type { Monitor } from './monitor.entity.ts';
import type { MonitorSettings } from './monitor.writes.ts';

export type CreateBody = operations['createMonitor']['requestBody']['content']['application/json'];
export type UpdateBody = operations['updateMonitor']['requestBody']['content']['application/json'];

/** What the columns of a target depend on, besides the request. */
export interface SettingsDeps {
  /** Ranges that can be checked although they are not public. */
  netAllowed: Ranges;
  cipher: SecretCipher;
}

/** Returns what the schema cannot express about a new monitor. Only fields in which the schema found no error are present. */
export function createErrors({ url, type, ...body }: Partial<CreateBody>, netAllowed: Ranges): ValidationError[] {
  const errors = fieldErrors(body);
  if (type === undefined) return errors; // It is invalid, so the target cannot be checked.
  return [...(url === undefined ? [] : targetErrors(url, type, netAllowed)), ...otherOptionsErrors(body, type), ...errors];
}

/** The same for an update. What depends on the stored monitor is checked by `changedTarget`. */
export function fieldErrors(body: Partial<UpdateBody>): ValidationError[] {
  const { maintenance_until: until } = body;
  const error = typeof until === 'string' ? timeError(new Date(until)) : undefined;
  return [
    ...(error ? [{ in: 'body' as const, pointer: '/maintenance_until', ...error }] : []),
    ...monitorTypes.flatMap((type) => checks[type].options?.errors(optionsIn(body, type) ?? {}) ?? []),
  ];
}

/** Returns the columns of a new monitor. */
export function newMonitor(body: CreateBody, owner: Pick<Monitor, 'id' | 'userId'>, cipher: SecretCipher) {
  const { type, url } = body;
  const options = checkOf(type).options?.merge(optionsIn(body, type) ?? {}, { monitor: owner, stored: {}, isSameOrigin: false, cipher });
  return {
    userId: owner.userId,
    friendlyName: body.friendly_name,
    url,
    type,
    settings: JSON.stringify(options ?? {}),
    targetHost: checkOf(type).hostOf(url),
    intervalSeconds: body.interval,
    timeoutSeconds: body.timeout_seconds,
    confirmations: body.confirmations,
    isActive: body.is_active,
    tags: body.tags,
    websiteId: body.website_id ?? null,
    maintenanceUntil: toDate(body.maintenance_until),
  };
}

/** Returns the columns that a request changes, except those of the target. Absent fields keep their value. */
export function columnsOf(body: UpdateBody): Partial<MonitorSettings> {
  return {
    ...(body.friendly_name !== undefined && { friendlyName: body.friendly_name }),
    ...(body.interval !== undefined && { intervalSeconds: body.interval }),
    ...(body.timeout_seconds !== undefined && { timeoutSeconds: body.timeout_seconds }),
    ...(body.confirmations !== undefined && { confirmations: body.confirmations }),
    ...(body.is_active !== undefined && { isActive: body.is_active }),
    ...(body.tags !== undefined && { tags: body.tags }),
    ...(body.website_id !== undefined && { websiteId: body.website_id }),
    ...(body.maintenance_until !== undefined && { maintenanceUntil: toDate(body.maintenance_until) }),
  };
}

function toDate(text: string | null | undefined): Date | null {
  return typeof text === 'string' ? new Date(text) : null;
}

/** The options of a type are part of the target. */
export function changesTarget(body: UpdateBody): boolean {
  return body.url !== undefined || body.type !== undefined || monitorTypes.some((type) => optionsIn(body, type));
}

/** Returns the columns of the target after a request that was validated with the monitor as it was seen. */
export function changedTarget(seen: Monitor, body: UpdateBody, { netAllowed, cipher }: SettingsDeps) {
  const { url = seen.url, type = seen.type } = body;
  const isSameType = type === seen.type;
  const errors = [...(isSameType && url === seen.url ? [] : targetErrors(url, type, netAllowed)), ...otherOptionsErrors(body, type)];
  if (errors.length > 0) throw new InvalidRequest(errors);
  const options = checkOf(type).options?.merge(optionsIn(body, type) ?? {}, {
    monitor: seen,
    stored: isSameType ? seen.settings : {},
    isSameOrigin: isSameType && originOf(url) === originOf(seen.url),
    cipher,
  });
  return { url, type, targetHost: checkOf(type).hostOf(url), settings: JSON.stringify(options ?? {}) };
}

function originOf(url: string): string | undefined {
  return URL.parse(url)?.origin;
}

/** The options of a type are in an object that has the name of the type. */
export function optionsIn(body: object, type: MonitorType): SentOptions | undefined {
  return (body as Partial<Record<MonitorType, SentOptions>>)[type];
}

const monitorTypes = Object.keys(checks) as MonitorType[];

/** Rejects the options of another type: they would have no effect. */
function otherOptionsErrors(body: object, type: MonitorType): ValidationError[] {
  return monitorTypes
    .filter((other) => other !== type && optionsIn(body, other))
    .map((other) => ({ in: 'body', pointer: `/${other}`, code: 'field_of_other_type', message: `is only allowed for type ${other}` }));
}

/** Validates the `url` of a monitor, which depends on its type. */
function targetErrors(url: string, type: MonitorType, allowed: Ranges): ValidationError[] {
  const error = checkOf(type).targetError(url, allowed);
  return error ? [{ in: 'body', pointer: '/url', ...error }] : [];
}
