import type { ErrorObject } from 'ajv';
import type { ValidationError } from '../errors.ts';
import type { Operation } from './contract.ts';

type Location = Pick<ValidationError, 'in' | 'pointer' | 'name'>;

const maxPointerLength = 256;

/** Translates Ajv's errors into the entries of a 422 response. */
export function validationErrorsOf(errors: ErrorObject[], operation: Operation): ValidationError[] {
  // Ajv reports every branch of a oneOf or anyOf that does not match. The error of the keyword itself covers them.
  const unions = errors.filter((error) => error.keyword === 'oneOf' || error.keyword === 'anyOf');
  return errors
    .filter(
      (error) => error.keyword !== 'if' && !unions.some((union) => union !== error && error.instancePath.startsWith(union.instancePath)),
    )
    .map((error) => variantError(error, operation) ?? { ...locationOf(error, operation), ...describeError(error) });
}

/** For a body with several variants, such as provider types: reports an unknown variant, or the variant that a field is for. */
function variantError({ keyword, params }: ErrorObject, operation: Operation): ValidationError | undefined {
  const { variants } = operation.body ?? {};
  if (!variants) return undefined;
  if (keyword === 'discriminator') {
    const isMissing = params.tagValue === undefined;
    const message = isMissing ? 'is required' : `must be one of ${Object.keys(variants.fields).join(', ')}`;
    return { in: 'body', pointer: `/${variants.discriminator}`, code: isMissing ? 'required' : 'enum', message };
  }
  if (keyword !== 'additionalProperties') return undefined;
  const field = String(params.additionalProperty);
  const owners = Object.keys(variants.fields).filter((variant) => variants.fields[variant]?.includes(field));
  if (owners.length === 0) return undefined;
  const message = `is only allowed for ${variants.discriminator} ${owners.join(' or ')}`;
  return { in: 'body', pointer: pointerTo(field), code: 'field_of_other_type', message };
}

/** If one of these applies, other errors at the same location are dropped. The most helpful one comes first. */
const overridingCodes = ['invalid_character', 'repeated', 'length', 'min_length', 'enum', 'type', 'minimum', 'maximum'];

/** One mistake often breaks several rules. The client sees only the most helpful error for it. */
export function dropRedundant(errors: ValidationError[]): ValidationError[] {
  const key = ({ in: location, pointer, name }: ValidationError) => `${location} ${pointer ?? name}`;
  const overriding = new Map<string, ValidationError>();
  for (const code of overridingCodes) {
    for (const error of errors) if (error.code === code && !overriding.has(key(error))) overriding.set(key(error), error);
  }
  return errors.filter((error) => (overriding.get(key(error)) ?? error) === error);
}

/** Finds NUL, which PostgreSQL cannot store, and unpaired surrogates, which UTF-8 cannot encode. */
export function findInvalidCharacters(input: Record<string, unknown>): ValidationError[] {
  const errors: ValidationError[] = [];
  const pending: [path: string, value: unknown][] = [['', input]];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [path, value] = next;
    if (typeof value === 'string' && hasInvalidCharacter(value)) errors.push(invalidCharacter(path));
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      if (hasInvalidCharacter(key)) errors.push(invalidCharacter(path));
      else if (typeof child === 'string' ? hasInvalidCharacter(child) : typeof child === 'object') {
        // No schema is that deep, and pointers are cut below. Without this limit a nested body could grow paths without bound.
        pending.push([path.length > 2 * maxPointerLength ? path : `${path}/${escapePointer(key)}`, child]);
      }
    }
  }
  return errors;
}

function hasInvalidCharacter(text: string): boolean {
  return text.includes('\u0000') || !text.isWellFormed();
}

function invalidCharacter(path: string): ValidationError {
  return { ...parseLocation(path), code: 'invalid_character', message: 'must not contain NUL or unpaired surrogate characters' };
}

function locationOf(error: ErrorObject, operation: Operation): Location {
  const { missingProperty, additionalProperty } = error.params as { missingProperty?: string; additionalProperty?: string };
  const property = missingProperty ?? additionalProperty;
  const location = parseLocation(property === undefined ? error.instancePath : `${error.instancePath}/${escapePointer(property)}`);
  if (location.in !== 'header') return location;
  const declared = operation.parameters.find((parameter) => parameter.name.toLowerCase() === location.name);
  return { in: 'header', name: declared?.name ?? location.name ?? '' };
}

/** Parses a path in the validated object, such as `/query/page` or `/requestBody/name`. */
function parseLocation(path: string): Location {
  const [, part = '', ...rest] = path.split('/');
  if (part === 'requestBody') return { in: 'body', pointer: cutPointer(rest.map((step) => `/${step}`).join('')) };
  return { in: part as 'path' | 'query' | 'header', name: rest.join('/').replaceAll('~1', '/').replaceAll('~0', '~') };
}

/** The pointer to a field of the body. */
export function pointerTo(field: string): string {
  return cutPointer(`/${escapePointer(field)}`);
}

/** A field name that the client made up can be as long as the body. */
function cutPointer(pointer: string): string {
  return pointer.length > maxPointerLength ? `${pointer.slice(0, maxPointerLength).toWellFormed()}…` : pointer;
}

function describeError(error: ErrorObject): Pick<ValidationError, 'code' | 'message'> {
  const { keyword, params, parentSchema = {}, message } = error;
  // A regular expression tells the client nothing, so the contract says in words what each pattern means, and some types.
  const patternMessage: string | undefined = parentSchema['x-pattern-message'];
  const typeMessage: string | undefined =
    parentSchema['x-type-message'] ?? (params.type === 'string' ? formatMessages[parentSchema.format] : undefined);
  switch (keyword) {
    case 'required':
      return { code: 'required', message: 'is required' };
    case 'additionalProperties':
      return { code: 'unknown_field', message: unknownFieldMessage(params.additionalProperty, parentSchema) };
    case 'type':
      return {
        code: 'type',
        message: typeMessage ?? (params.type === 'boolean' ? 'must be true or false' : `must be ${withArticle(params.type)}`),
      };
    case 'enum':
      return { code: 'enum', message: `must be ${params.allowedValues.length === 1 ? '' : 'one of '}${params.allowedValues.join(', ')}` };
    case 'minimum':
      return { code: 'minimum', message: `must be at least ${params.limit}` };
    case 'maximum':
      return { code: 'maximum', message: `must be at most ${params.limit}` };
    case 'minLength':
      return { code: 'min_length', message: `must have at least ${params.limit} ${params.limit === 1 ? 'character' : 'characters'}` };
    case 'maxLength':
      return { code: 'max_length', message: `must have at most ${params.limit} characters` };
    case 'minItems':
      return { code: 'min_items', message: `must have at least ${params.limit} ${params.limit === 1 ? 'item' : 'items'}` };
    case 'maxItems':
      return { code: 'max_items', message: `must have at most ${params.limit} items` };
    case 'uniqueItems':
      return {
        code: 'repeated',
        message: `must not contain duplicates, but has the same item at the indexes ${[params.i, params.j].sort((a, b) => a - b).join(' and ')}`,
      };
    case 'pattern':
      return { code: 'pattern', message: patternMessage ?? 'has an invalid format' };
    case 'format':
      return { code: 'format', message: formatMessages[params.format] ?? `must be a valid ${params.format}` };
    case 'oneOf':
    case 'anyOf':
      return { code: 'form', message: patternMessage ?? 'has an invalid format' };
    default:
      return { code: 'invalid', message: message ?? 'is not valid' };
  }
}

const formatMessages: Record<string, string> = {
  email: 'must be an e-mail address',
  'date-time': 'must be a date and time such as 2099-12-31T00:00:00Z',
  uri: 'must be a URL',
};

function unknownFieldMessage(field: string, schema: Record<string, string[] | undefined>): string {
  return schema['x-immutable-properties']?.includes(field) ? 'cannot be changed after creation' : 'is not a known field';
}

function withArticle(type: string): string {
  return `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}

export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
