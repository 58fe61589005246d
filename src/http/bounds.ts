import type { BodySchema } from './contract.ts';

/** Validating a smaller body cannot take long. */
const smallBodyBytes = 4096;

/**
 * Cuts what is longer than the contract allows to just over its limit, so that validating the largest body takes no longer
 * than validating a normal one. What is left still violates the limit, so a cut value never reaches a handler.
 */
export function cutToBounds(value: unknown, schema: BodySchema, bytes: number): unknown {
  return bytes <= smallBodyBytes ? value : cut(value, [schema]);
}

/** A value with several variants has several schemas. The most generous limit of them applies. */
function cut(value: unknown, schemas: BodySchema[]): unknown {
  if (schemas.length === 0) return null; // Rejected whatever it is.
  const variants = schemas.flatMap((schema) => [schema, ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]);
  if (typeof value === 'string') return cutText(value, largest(variants.flatMap(textLimits)));
  if (Array.isArray(value)) {
    const kept = value.slice(0, largest(variants.map(({ maxItems }) => maxItems)) + 1);
    return kept.map((item) => cut(item, present(variants.map(({ items }) => items))));
  }
  return typeof value === 'object' && value !== null ? cutObject(value, variants) : value;
}

function cutObject(value: object, variants: BodySchema[]): object {
  const result: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(value)) {
    const schemas = present(variants.map(({ properties }) => (Object.hasOwn(properties ?? {}, name) ? properties?.[name] : undefined)));
    define(result, name, cut(child, schemas));
  }
  return result;
}

/** An assignment to __proto__ would change the prototype instead. */
function define(target: object, name: string, value: unknown) {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}

/** Limits count characters, of which each has at most two code units. */
function cutText(text: string, limit: number): string {
  const kept = text.slice(0, 2 * (limit + 2));
  return kept.length === text.length || kept.isWellFormed() ? kept : kept.slice(0, -1);
}

/** An enum needs no maximum length. A text without any limit, such as a constant, is not cut. */
function textLimits({ type = 'string', maxLength, enum: values, oneOf, anyOf }: BodySchema): number[] {
  if (type !== 'string') return [];
  if (maxLength !== undefined) return [maxLength];
  if (values) return values.map((value) => String(value).length);
  return oneOf || anyOf ? [] : [Number.POSITIVE_INFINITY];
}

function largest(limits: (number | undefined)[]): number {
  return Math.max(0, ...present(limits));
}

function present<T>(values: (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}
