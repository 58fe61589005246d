import type { Connection, Submittable, TypeOverrides } from 'pg';
import type { Statement } from './statement.ts';

interface Column {
  name: string;
  parse(text: string): unknown;
}

/** The statements that a connection has prepared, by name, with their columns once these are known. */
type Prepared = Map<string, Column[] | undefined>;

/** What pg's own type description says otherwise, or not at all. */
interface Wire {
  parse(query: { name: string; text: string }): void;
  bind(query: { statement: string; values: (string | null)[] }): void;
  describe(what: { type: 'P'; name: string }): void;
  execute(query: object): void;
  sync(): void;
}

const names = new Map<string, string>();
const preparedBy = new WeakMap<object, Prepared>();

/**
 * Several prepared statements in one round trip. PostgreSQL takes what comes before a Sync as one transaction, so neither
 * BEGIN nor COMMIT is sent. Each text is prepared once a connection, and its columns are asked for once.
 */
export class Batch implements Submittable {
  /** pg wraps it where a time limit holds. */
  callback: (error: Error | null, rows?: unknown[][]) => void;
  /** Whether something was prepared on the way: if it fails, nobody knows how far that went. */
  hasPrepared = false;
  readonly #names: string[];
  readonly #statements: readonly Statement[];
  readonly #types: TypeOverrides;
  readonly #results: unknown[][] = [];
  #prepared: Prepared = new Map();
  #rows: unknown[] = [];
  #failed = false;

  constructor(statements: readonly Statement[], types: TypeOverrides, callback: Batch['callback']) {
    this.#statements = statements;
    this.#names = statements.map(({ text }) => nameOf(text));
    this.#types = types;
    this.callback = callback;
  }

  submit(connection: Connection) {
    const wire = connection as unknown as Wire;
    this.#prepared = preparedBy.get(connection) ?? new Map();
    preparedBy.set(connection, this.#prepared);
    for (const [index, { text, values }] of this.#statements.entries()) {
      const name = this.#names[index] as string;
      if (!this.#prepared.has(name)) {
        this.hasPrepared = true;
        this.#prepared.set(name, undefined);
        wire.parse({ name, text });
      }
      wire.bind({ statement: name, values: values.map(asText) });
      if (!this.#prepared.get(name)) wire.describe({ type: 'P', name: '' });
      wire.execute({});
    }
    wire.sync();
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }) {
    const columns: Column[] = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#types.getTypeParser(dataTypeID) as never }));
    this.#prepared.set(this.#current(), columns);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }) {
    const row: Record<string, unknown> = {};
    const columns = this.#prepared.get(this.#current()) ?? [];
    for (let index = 0; index < columns.length; index++) {
      const { name, parse } = columns[index] as Column;
      const text = fields[index] as string | null;
      row[name] = text === null ? null : parse(text);
    }
    this.#rows.push(row);
  }

  handleCommandComplete() {
    this.#results.push(this.#rows);
    this.#rows = [];
  }

  handleError(error: Error) {
    if (this.#failed) return;
    this.#failed = true;
    this.callback(error);
  }

  handleReadyForQuery() {
    if (!this.#failed) this.callback(null, this.#results);
  }

  #current(): string {
    return this.#names[this.#results.length] as string;
  }
}

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `sitekeeper_${names.size}`;
    names.set(text, name);
  }
  return name;
}

/** As PostgreSQL reads it. Values are texts, numbers, booleans and null. */
function asText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
