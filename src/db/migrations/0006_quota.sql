-- Undoes a creation that goes over the quota. It is asked after the row was added: whoever has added one keeps other
-- creations of the user waiting, so that the number is exact.
create function refuse_websites_over(maximum integer) returns void
language plpgsql
as $$
begin
  if (select website_count from users) > maximum then
    raise exception 'more than % websites', maximum using errcode = 'SK001';
  end if;
end
$$;
