import type { operations } from '../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import { timeError } from '../../db/times.ts';
import { InvalidRequest, type ValidationError } from '../../errors.ts';
import type { Ranges } from '../../net/addresses.ts';
import type { MonitorType, SentOptions, StoredOptions } from '../checks/check.ts';
import { checkOf, checks } from '../checks/registry.ts';
import type { Monitor } from './monitor.entity.ts';
import type { MonitorSettings, TargetChange } from './monitor.writes.ts';

export type CreateBody = operations['createMonitor']['requestBody']['content']['application/json'];
export type UpdateBody = operations['updateMonitor']['requestBody']['content']['application/json'];

/** What the columns of a target depend on, besides the request. */
export interface SettingsDeps {
  /** Ranges that can be checked although they are not public. */
  netAllowed: Ranges;
  cipher: SecretCipher;
}

/** Returns what the schema cannot express about a new monitor. Only fields in which the schema found no error are present. */
export function createErrors(body: Partial<CreateBody>, netAllowed: Ranges): ValidationError[] {
  const { url, type } = body;
  if (type === undefined) return fieldErrors(body); // It is invalid, so the target cannot be checked.
  return [...targetErrors(url, type, netAllowed), ...typeErrors(body, type), ...fieldErrors(body)];
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
  const { type, url = null } = body;
  const change = { monitor: owner, stored: {}, isSameOrigin: false, cipher };
  return {
    userId: owner.userId,
    friendlyName: body.friendly_name,
    ...targetColumns(url, type, checkOf(type).options?.merge(optionsIn(body, type) ?? {}, change)),
    intervalSeconds: body.interval,
    timeoutSeconds: body.timeout_seconds,
    confirmations: body.confirmations ?? defaultConfirmations(type),
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

/** Whether a request can be validated only with the stored monitor. The options of a type are part of the target. */
export function dependsOnStored(body: UpdateBody): boolean {
  const { url, type, confirmations } = body;
  return [url, type, confirmations].some((field) => field !== undefined) || monitorTypes.some((name) => optionsIn(body, name));
}

/**
 * Returns the columns of the target after a request that was validated with the monitor as it was seen, and what must not change in the
 * meantime: what was used for that and is not replaced.
 */
export function changedTarget(
  seen: Monitor,
  body: UpdateBody,
  { netAllowed, cipher }: SettingsDeps,
): Partial<MonitorSettings & TargetChange> {
  const { type = seen.type } = body;
  const isSameType = type === seen.type;
  const isPassive = checkOf(type).passive !== undefined;
  const url = body.url === undefined && !isPassive ? (seen.url ?? null) : (body.url ?? null);
  const isSameUrl = body.url === undefined || body.url === seen.url;
  const errors = [...(isSameType && isSameUrl ? [] : targetErrors(url, type, netAllowed)), ...typeErrors(body, type)];
  if (errors.length > 0) throw new InvalidRequest(errors);
  const condition = {
    seenType: seen.type,
    seenSettings: JSON.stringify(seen.settings),
    ...(body.url === undefined && { seenUrl: seen.url ?? null }),
  };
  if (isSameType && isSameUrl && !optionsIn(body, type)) return condition;
  const options = checkOf(type).options?.merge(optionsIn(body, type) ?? {}, {
    monitor: seen,
    stored: isSameType ? seen.settings : {},
    isSameOrigin: isSameType && originOf(url) === originOf(seen.url),
    cipher,
  });
  const changesKind = isPassive !== (checkOf(seen.type).passive !== undefined);
  return {
    ...condition,
    ...targetColumns(url, type, options),
    keepStatus: [...(checkOf(type).options?.keepStatus ?? [])],
    ...(changesKind && body.confirmations === undefined && { confirmations: defaultConfirmations(type) }),
  };
}

function targetColumns(url: string | null, type: MonitorType, options: StoredOptions = {}) {
  const { hostOf, passive } = checkOf(type);
  return {
    url,
    type,
    settings: JSON.stringify(options),
    targetHost: url === null ? '' : hostOf(url),
    graceSeconds: passive?.graceSeconds(options) ?? null,
  };
}

function defaultConfirmations(type: MonitorType): number {
  return checkOf(type).passive ? 0 : 2;
}

function originOf(url: string | null | undefined): string | undefined {
  return URL.parse(url ?? '')?.origin;
}

/** The options of a type are in an object that has the name of the type. */
export function optionsIn(body: object, type: MonitorType): SentOptions | undefined {
  return (body as Partial<Record<MonitorType, SentOptions>>)[type];
}

const monitorTypes = Object.keys(checks) as MonitorType[];

/** Rejects what belongs to another type: it would have no effect. */
function typeErrors(body: Partial<UpdateBody>, type: MonitorType): ValidationError[] {
  const others = monitorTypes.filter((other) => other !== type && optionsIn(body, other));
  return [
    ...others.map((other) => ({
      in: 'body' as const,
      pointer: `/${other}`,
      code: 'field_of_other_type',
      message: `is only allowed for type ${other}`,
    })),
    ...(checkOf(type).passive && body.confirmations ? [{ ...noConfirmations, message: `must be 0 or absent for type ${type}` }] : []),
  ];
}

const noConfirmations = { in: 'body', pointer: '/confirmations', code: 'field_of_other_type' } as const;
const missingUrl: ValidationError = { in: 'body', pointer: '/url', code: 'required', message: 'is required' };

/** Validates the `url` of a monitor, which depends on its type. */
function targetErrors(url: string | null | undefined, type: MonitorType, allowed: Ranges): ValidationError[] {
  const check = checkOf(type);
  if (url == null) return check.passive ? [] : [missingUrl];
  const error = check.targetError(url, allowed);
  return error ? [{ in: 'body', pointer: '/url', ...error }] : [];
}
