-- unused since 0.1.0
-- One function that counts the rows of all four tables made an insert 5 to 10 % slower, so each column has its own.

do $$
declare
  counted record;
begin
  for counted in
    select * from (values
      ('websites', 'website_count'), ('monitors', 'monitor_count'), ('providers', 'provider_count'), ('api_keys', 'key_count')
    ) as names (table_name, column_name)
  loop
    -- The update locks the user's row until the end of the transaction. So concurrent changes wait, and the number is exact.
    execute format($create$
      create function maintain_%2$s() returns trigger
      language plpgsql
      as $body$
      begin
        update users
           set %2$s = %2$s + changes.rows * case tg_op when 'INSERT' then 1 else -1 end
          from (select user_id, count(*) as rows from changed group by user_id) as changes
         where users.id = changes.user_id;
        return null;
      end
      $body$;

      revoke execute on function maintain_%2$s from public;

      create or replace trigger rows_inserted after insert on %1$s
      referencing new table as changed for each statement execute function maintain_%2$s();

      create or replace trigger rows_deleted after delete on %1$s
      referencing old table as changed for each statement execute function maintain_%2$s()
    $create$, counted.table_name, counted.column_name);
  end loop;
end
$$;

drop function maintain_row_count;
