import type { ErrorObject } from 'ajv';
import type { Fault } from '../errors.ts';
import type { Operation } from './contract.ts';

const longestPointer = 256;

/** What Ajv found, in our words. */
export function faultsOf(errors: ErrorObject[], operation: Operation): Fault[] {
  // A union reports each branch that does not fit; the union's own error says it in one.
  const unions = errors.filter((error) => error.keyword === 'oneOf' || error.keyword === 'anyOf');
  return errors
    .filter(
      (error) => error.keyword !== 'if' && !unions.some((union) => union !== error && error.instancePath.startsWith(union.instancePath)),
    )
    .map((error) => unionFault(error, operation) ?? { ...placeOf(error, operation), ...ruleOf(error) });
}

/** In a body that is one of several kinds: which kind is meant, and to which a field belongs. */
function unionFault({ keyword, params, parentSchema }: ErrorObject, operation: Operation): Fault | undefined {
  const { union } = operation.body ?? {};
  if (!union) return undefined;
  if (keyword === 'discriminator') {
    const isMissing = params.tagValue === undefined;
    const message = isMissing ? 'is missing' : `must be one of ${Object.keys(union.kinds).join(', ')}`;
    return { in: 'body', pointer: `/${union.tag}`, code: isMissing ? 'required' : 'enum', message };
  }
  if (keyword !== 'additionalProperties') return undefined;
  const field = String(params.additionalProperty);
  const owners = Object.keys(union.kinds).filter((kind) => union.kinds[kind]?.includes(field));
  if (owners.length === 0) return undefined;
  const given = parentSchema?.properties?.[union.tag]?.enum?.[0];
  const message = `belongs to ${union.tag} ${owners.join(' or ')}, not ${given}`;
  return { in: 'body', pointer: `/${escapePointer(field)}`, code: 'field_of_other_type', message };
}

/** Each says all there is to say about a place, the first of them best: what is none of the values allowed may be of a wrong type, too. */
const lastWords = ['invalid_character', 'repeated', 'length', 'enum', 'type', 'minimum', 'maximum'];

/** One mistake often breaks several rules. It is told once. */
export function withoutEchoes(faults: Fault[]): Fault[] {
  const where = ({ in: part, pointer, name }: Fault) => `${part} ${pointer ?? name}`;
  const told = new Map<string, Fault>();
  for (const code of lastWords) {
    for (const fault of faults) if (fault.code === code && !told.has(where(fault))) told.set(where(fault), fault);
  }
  return faults.filter((fault) => (told.get(where(fault)) ?? fault) === fault);
}

/** NUL and lone surrogates: PostgreSQL cannot store the one, UTF-8 has no form for the other. */
export function findBadCharacters(input: Record<string, unknown>): Fault[] {
  const faults: Fault[] = [];
  const left: [path: string, value: unknown][] = [['', input]];
  for (let next = left.pop(); next; next = left.pop()) {
    const [path, value] = next;
    if (typeof value === 'string' && isBad(value)) faults.push(badCharacter(path));
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      if (isBad(key)) faults.push(badCharacter(path));
      else if (typeof child === 'string' ? isBad(child) : typeof child === 'object') {
        // No contract goes that deep, so the path is cut below anyway; grown on, it would take more room than the body.
        left.push([path.length > longestPointer ? path : `${path}/${escapePointer(key)}`, child]);
      }
    }
  }
  return faults;
}

function isBad(text: string): boolean {
  return text.includes('\u0000') || !text.isWellFormed();
}

function badCharacter(path: string): Fault {
  return { ...place(path), code: 'invalid_character', message: 'holds a NUL character or half of a surrogate pair' };
}

function placeOf(error: ErrorObject, operation: Operation): Pick<Fault, 'in' | 'pointer' | 'name'> {
  const { missingProperty, additionalProperty } = error.params as { missingProperty?: string; additionalProperty?: string };
  const named = missingProperty ?? additionalProperty;
  const found = place(named === undefined ? error.instancePath : `${error.instancePath}/${escapePointer(named)}`);
  if (found.in !== 'header') return found;
  const declared = operation.parameters.find((parameter) => parameter.name.toLowerCase() === found.name);
  return { in: 'header', name: declared?.name ?? found.name ?? '' };
}

/** `/query/page` or `/requestBody/name`, as the validated object is laid out. */
function place(path: string): Pick<Fault, 'in' | 'pointer' | 'name'> {
  const [, part = '', ...rest] = path.split('/');
  if (part === 'requestBody') return { in: 'body', pointer: cut(rest.map((step) => `/${step}`).join('')) };
  return { in: part as 'path' | 'query' | 'header', name: rest.join('/').replaceAll('~1', '/').replaceAll('~0', '~') };
}

/** Names that callers make up may be as long as a whole body. */
function cut(pointer: string): string {
  return pointer.length > longestPointer ? `${pointer.slice(0, longestPointer).toWellFormed()}…` : pointer;
}

function ruleOf({ keyword, params, message }: ErrorObject): Pick<Fault, 'code' | 'message'> {
  switch (keyword) {
    case 'required':
      return { code: 'required', message: 'is missing' };
    case 'additionalProperties':
      return { code: 'unknown_field', message: 'is not a known field' };
    case 'type':
      return { code: 'type', message: `must be ${/^[aio]/.test(params.type) ? 'an' : 'a'} ${params.type}` };
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
      return { code: 'min_items', message: `must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}` };
    case 'maxItems':
      return { code: 'max_items', message: `must have at most ${params.limit} entries` };
    case 'uniqueItems':
      return { code: 'repeated', message: `holds the same entry at ${params.j} and ${params.i}` };
    case 'pattern':
      return { code: 'pattern', message: `must match ${params.pattern}` };
    case 'format':
      return { code: 'format', message: `must be a valid ${params.format}` };
    case 'oneOf':
    case 'anyOf':
      return { code: 'form', message: 'has none of the forms that are allowed' };
    default:
      return { code: 'invalid', message: message ?? 'is not valid' };
  }
}

export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
