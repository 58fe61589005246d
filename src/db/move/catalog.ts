// What a move copies. Everything is read from the catalog of the database, so that a new table or sequence cannot be forgotten.

/** Runs one statement as the owner of the tables, on the embedded database or on PostgreSQL. */
export type OwnerQuery = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

interface Column {
  name: string;
  type: string;
  isGenerated: boolean;
}

export interface Table {
  name: string;
  isForced: boolean;
  columns: Column[];
  /** The columns of the primary key. Rows are copied in this order. */
  key: Column[];
  /** The tables that foreign keys refer to. They are copied first. */
  parents: string[];
}

/** `migrate` writes these in each database. The last one exists only during a move. */
export const ownTables = ['migrations', 'migration_checksums', 'unfinished_move'];

/** Describes a column in JSON, which both drivers parse in the same way. */
const column = `json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'isGenerated', a.attgenerated <> '')`;

/** Returns the tables to copy, in alphabetical order. */
export async function readTables(query: OwnerQuery): Promise<Table[]> {
  return query<Table>(
    `select t.relname::text as name, t.relforcerowsecurity as "isForced",
            (select json_agg(${column} order by a.attnum)
               from pg_attribute a where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped) as columns,
            (select json_agg(${column} order by k.position)
               from pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, position)
               join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum
              where i.indrelid = t.oid and i.indisprimary) as key,
            (select coalesce(json_agg(distinct p.relname), '[]')
               from pg_constraint f join pg_class p on p.oid = f.confrelid
              where f.conrelid = t.oid and f.contype = 'f' and f.confrelid <> t.oid) as parents
       from pg_class t
      where t.relnamespace = 'public'::regnamespace and t.relkind in ('r', 'p') and not t.relispartition
        and t.relname <> all (array['${ownTables.join("', '")}'])
      order by t.relname`,
  );
}

/** Sorts tables so that each comes after those that it refers to. A reference to the table itself does not matter. */
export function parentsFirst(tables: Table[]): Table[] {
  const sorted: Table[] = [];
  while (sorted.length < tables.length) {
    const isSorted = (name: string) => sorted.some((table) => table.name === name);
    const next = tables.filter(({ name, parents }) => !isSorted(name) && parents.every(isSorted));
    if (next.length === 0) throw new Error('The foreign keys of the tables form a cycle.');
    sorted.push(...next);
  }
  return sorted;
}

/** Returns the sequences that number rows or claims. */
export async function readSequences(query: OwnerQuery): Promise<string[]> {
  const rows = await query<{ name: string }>(
    `select s.relname::text as name from pg_class s
       left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.deptype in ('a', 'i')
       left join pg_class t on t.oid = d.refobjid
      where s.relnamespace = 'public'::regnamespace and s.relkind = 'S'
        and coalesce(t.relname, '') <> all (array['${ownTables.join("', '")}'])
      order by s.relname`,
  );
  return rows.map(({ name }) => name);
}

/** The names come from the catalog, but any of them could be a keyword. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
