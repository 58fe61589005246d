import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { withLogin } from '../../config/postgres-url.ts';
import { OperatorError } from '../../errors.ts';
import { explainConnectionError } from '../connection-error.ts';
import { markAsMoved, openEmbeddedAsOwner } from '../embedded.ts';
import { migratePostgres } from '../postgres.ts';
import { type OwnerQuery, parentsFirst, quote, readSequences, readTables, type Table } from './catalog.ts';
import { MoveTarget, textFormat } from './target.ts';

interface MoveOptions {
  /** The data directory of the embedded database. */
  folder: string;
  /** The login of the owner of the PostgreSQL database. */
  ownerUrl: string;
  /** Where the operator has set that URL. */
  setting: string;
  /** The role that the service will log in as. */
  login: string;
  /** Whether the rows of an unfinished move are deleted first. */
  restart: boolean;
  /** Prints one line. */
  print(line: string): void;
}

/** A batch has at most this many rows, and ends with the row that reaches this size. */
const batchRows = 1000;
const batchBytes = 4 * 1024 * 1024;
const progressMs = 1000;

/** Copies the embedded database to an empty PostgreSQL database, or continues a copy that was interrupted. */
export async function moveToPostgres({ folder, ownerUrl, setting, login, restart, print }: MoveOptions): Promise<void> {
  const target = await MoveTarget.connect(ownerUrl).catch((error: unknown) => {
    throw explainConnectionError(error, setting);
  });
  let embedded: Awaited<ReturnType<typeof openEmbeddedAsOwner>> | undefined;
  try {
    await target.lock();
    await requireRole(target.query, login);
    embedded = await openEmbeddedAsOwner(folder);
    const { pglite } = embedded;
    await pglite.exec(textFormat);
    const source: OwnerQuery = async <Row>(text: string, values: unknown[] = []) => (await pglite.query<Row>(text, values)).rows;
    const tables = parentsFirst(await readTables(source));
    const isContinued = await target.begin(await identify(source), tables);
    const migrations = await migratePostgres(ownerUrl, withLogin(ownerUrl, encodeURIComponent(login)), undefined, { isMove: true });
    await requireSameSchema(source, target.query);
    if (isContinued) {
      // A migration may have filled a table from the rows that were copied before.
      const startsAgain = restart || migrations.length > 0;
      if (startsAgain) await target.empty(tables);
      print(startsAgain ? 'Deleted what an unfinished move has copied.' : 'Continuing the unfinished move.');
    }
    for (const table of tables) await copyRows(source, target, table, print);
    for (const table of tables) await verifyRows(source, target, table, print);
    await copySequences(source, target.query);
    markAsMoved(folder);
    await target.finish();
  } catch (error) {
    if (!target.isLost && !isConnectionEnded(error)) throw error;
    throw new OperatorError('The connection to the database was lost. Run the same command again, which continues the move.', {
      cause: error,
    });
  } finally {
    await target.close();
    await embedded?.close();
  }
}

/** Whether the server has ended the connection, such as for its own restart. The error precedes the end. */
function isConnectionEnded(error: unknown): boolean {
  return /^57P/.test((error as { code?: string }).code ?? '');
}

/** Identifies a source by its first user. The embedded databases of all installations are copies of one cluster. */
async function identify(source: OwnerQuery): Promise<string> {
  const [first] = await source<{ row: string }>(`select row(id, created_at)::text as row from users order by id limit 1`);
  if (!first)
    throw new OperatorError('The embedded database has no users, so there is nothing to move. Start with an empty PostgreSQL database.');
  return createHash('sha256').update(first.row).digest('hex').slice(0, 16);
}

async function requireRole(target: OwnerQuery, login: string): Promise<void> {
  const [role] = await target('select from pg_roles where rolname = $1', [login]);
  if (role) return;
  throw new OperatorError(
    `The server has no role "${login}", which the service would log in as. Create it with deploy/create-database.sql, or name another one with --login.`,
  );
}

/** Both have run the migrations of this version. A newer version, or an operator, may have run more. */
async function requireSameSchema(source: OwnerQuery, target: OwnerQuery): Promise<void> {
  const describe = async (query: OwnerQuery) => [
    await query('select name from migrations order by name'),
    await readTables(query),
    await readSequences(query),
  ];
  if (isDeepStrictEqual(await describe(source), await describe(target))) return;
  throw new OperatorError(
    'The tables of the two databases differ. Use an empty database, and the version of Sitekeeper that runs on the embedded one.',
  );
}

async function copyRows(source: OwnerQuery, target: MoveTarget, table: Table, print: (line: string) => void): Promise<void> {
  const [count] = await source<{ rows: string }>(`select count(*)::text as rows from ${quote(table.name)}`);
  let progress = (await target.readProgress())[table.name] ?? { rows: 0, lastKey: [] };
  let printedAt = 0;
  const printProgress = () => {
    print(`${table.name}: ${progress.rows} of ${count?.rows} rows`);
    printedAt = Date.now();
  };
  printProgress();
  const start = progress.rows;
  for (;;) {
    const batch = await source<{ line: string; key: string[] }>(selectBatch(table, progress.lastKey.length > 0), progress.lastKey);
    const last = batch.at(-1);
    if (!last) break;
    progress = { rows: progress.rows + batch.length, lastKey: last.key };
    await target.insert(
      table,
      batch.map(({ line }) => line),
      progress,
    );
    if (Date.now() - printedAt > progressMs) printProgress();
  }
  if (progress.rows > start) printProgress();
}

/** Selects the rows after a key, as text. The text of a row is exact for every type, and needs no knowledge of the types. */
function selectBatch({ name, key }: Table, hasLastKey: boolean): string {
  const columns = key.map((column) => quote(column.name)).join(', ');
  const lastKey = key.map(({ type }, index) => `$${index + 1}::text::${type}`).join(', ');
  return `
    select line, key from (
      select copied::text as line, array[${key.map((column) => `${quote(column.name)}::text`).join(', ')}] as key,
             row_number() over keys as position, sum(octet_length(copied::text)) over keys as bytes
        from (select * from ${quote(name)} ${hasLastKey ? `where (${columns}) > (${lastKey})` : ''} order by ${columns} limit ${batchRows}) as copied
      window keys as (order by ${columns})
    ) as batch
    where bytes - octet_length(line) < ${batchBytes} order by position`;
}

/** Compares the number of rows, and a checksum that does not depend on their order. */
async function verifyRows(source: OwnerQuery, target: MoveTarget, table: Table, print: (line: string) => void): Promise<void> {
  const select = `
    select count(*)::text as rows,
           coalesce(sum(('x' || left(encode(sha256(convert_to(copied::text, 'UTF8')), 'hex'), 15))::bit(60)::bigint), 0)::text as checksum
      from ${quote(table.name)} as copied`;
  const [[expected], [found]] = [await source(select), await target.withoutRestrictions(table, () => target.query(select))] as [
    { rows: string; checksum: string }[],
    { rows: string; checksum: string }[],
  ];
  if (!isDeepStrictEqual({ ...expected }, { ...found })) {
    throw new OperatorError(
      `The table ${table.name} differs: ${expected?.rows} rows with the checksum ${expected?.checksum} in the embedded database, ${found?.rows} rows with ${found?.checksum} in the copy. One of them was changed during the move. Run it again with --restart, which copies everything again.`,
    );
  }
  print(`${table.name}: ${found?.rows} rows verified`);
}

/** New rows get ids after the copied ones, also if the last ones were deleted. */
async function copySequences(source: OwnerQuery, target: OwnerQuery): Promise<void> {
  for (const name of await readSequences(source)) {
    const [state] = await source<{ value: string; called: boolean }>(
      `select last_value::text as value, is_called as called from ${quote(name)}`,
    );
    await target('select setval($1::regclass, $2::bigint, $3)', [`public.${quote(name)}`, state?.value, state?.called]);
  }
}
