import type { Connection, Submittable, TypeOverrides } from 'pg';
import type { Statement } from './statement.ts';

interface Column {
  name: string;
  parse(text: string): unknown;
}

/** The statements that a connection has prepared, by name. Their columns are added once the server has described them. */
type PreparedStatements = Map<string, Column[] | undefined>;

/** The protocol methods of pg's Connection that its type declarations lack or describe differently. */
interface ProtocolWriter {
  parse(query: { name: string; text: string }): void;
  bind(query: { statement: string; values: (string | Buffer | null)[] }): void;
  describe(what: { type: 'P'; name: string }): void;
  execute(query: object): void;
  sync(): void;
}

const namesByText = new Map<string, string>();
const preparedByConnection = new WeakMap<object, PreparedStatements>();

/**
 * Runs several prepared statements in one round trip. PostgreSQL treats everything before a Sync message as one transaction, so
 * neither BEGIN nor COMMIT is sent. Each text is prepared and described once per connection.
 */
export class PipelinedQuery implements Submittable {
  /** pg replaces it when a query timeout is set. */
  callback: (error: Error | null, rows?: unknown[][]) => void;
  /** Whether it prepares a statement. If such a query fails, it is unknown which statements the connection has. */
  preparesStatements = false;
  readonly #names: string[];
  readonly #statements: readonly Statement[];
  readonly #types: TypeOverrides;
  readonly #results: unknown[][] = [];
  #prepared: PreparedStatements = new Map();
  #rows: unknown[] = [];
  #failed = false;

  constructor(statements: readonly Statement[], types: TypeOverrides, callback: PipelinedQuery['callback']) {
    this.#statements = statements;
    this.#names = statements.map(({ text }) => nameOf(text));
    this.#types = types;
    this.callback = callback;
  }

  submit(connection: Connection) {
    const writer = connection as unknown as ProtocolWriter;
    this.#prepared = preparedByConnection.get(connection) ?? new Map();
    preparedByConnection.set(connection, this.#prepared);
    for (const [index, { text, values }] of this.#statements.entries()) {
      const name = this.#names[index] as string;
      if (!this.#prepared.has(name)) {
        this.preparesStatements = true;
        this.#prepared.set(name, undefined);
        writer.parse({ name, text });
      }
      writer.bind({ statement: name, values: values.map(encode) });
      if (!this.#prepared.get(name)) writer.describe({ type: 'P', name: '' });
      writer.execute({});
    }
    writer.sync();
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }) {
    const columns: Column[] = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#types.getTypeParser(dataTypeID) as never }));
    this.#prepared.set(this.#currentName(), columns);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }) {
    const row: Record<string, unknown> = {};
    const columns = this.#prepared.get(this.#currentName()) ?? [];
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

  #currentName(): string {
    return this.#names[this.#results.length] as string;
  }
}

function nameOf(text: string): string {
  let name = namesByText.get(text);
  if (name === undefined) {
    name = `sitekeeper_${namesByText.size}`;
    namesByText.set(text, name);
  }
  return name;
}

/** Converts a value to PostgreSQL's text format. A buffer is sent in binary format. */
function encode(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? toArrayLiteral(value) : String(value);
}

function toArrayLiteral(items: unknown[]): string {
  return `{${items.map((item) => `"${String(item).replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
