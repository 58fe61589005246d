interface Url {
  path: string;
  query: string;
}

export interface PageLinks {
  first: string | null;
  last: string | null;
  prev: string | null;
  next: string | null;
}

/** The characters that RFC 3986 does not allow in a query. Clients send them anyway. */
const notInQuery = /[^\w!$'()*+,;=:@/?.~%-]/g;

/** Links to the other pages of a list. The client's other query parameters are kept as sent. */
export function pageLinks({ path, query }: Url, page: number, lastPage: number): PageLinks {
  const others = query
    .split('&')
    .filter((field) => field !== '' && decodeURIComponent(field.split('=')[0] ?? '') !== 'page')
    .map((field) => field.replace(notInQuery, encodeURIComponent));
  const link = (number: number) => `${path}?${[...others, `page=${number}`].join('&')}`;
  return {
    first: link(1),
    last: link(lastPage),
    prev: page > 1 ? link(Math.min(page - 1, lastPage)) : null,
    next: page < lastPage ? link(page + 1) : null,
  };
}

/** `links` and `meta` of a list in the monitoring API. An empty list has one page. */
export function pageMeta(url: Url, { page, pageSize, counted }: { page: number; pageSize: number; counted: { total: number }[] }) {
  const total = counted[0]?.total ?? 0;
  const pageCount = Math.max(1, Math.ceil(total / pageSize));
  return { links: pageLinks(url, page, pageCount), meta: { page, pageSize, pageCount, total } };
}
