/** Exists in a database while `sitekeeper move` copies into it. It contains the progress of the move. */
export const unfinishedMove = 'unfinished_move';

type AnyQuery = (text: string) => Promise<{ exists: boolean }[]>;

/** Every role may ask this, also before the first migration. */
export async function isMoveUnfinished(query: AnyQuery): Promise<boolean> {
  const [found] = await query(`select to_regclass('public.${unfinishedMove}') is not null as exists`);
  return found?.exists ?? false;
}

/** Throws if a database contains only a part of what is moved into it. A service would add rows that the move cannot keep apart. */
export async function rejectUnfinishedMove(query: AnyQuery): Promise<void> {
  if (!(await isMoveUnfinished(query))) return;
  throw new Error(
    'The database is the target of a move that has not finished. Run "sitekeeper move" again, which continues it, or use another database.',
  );
}
