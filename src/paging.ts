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

/** The neighbouring pages of a list, with the caller's other parameters kept as they were sent. */
export function pageLinks({ path, query }: Url, page: number, lastPage: number): PageLinks {
  const others = query.split('&').filter((pair) => pair !== '' && decodeURIComponent(pair.split('=')[0] ?? '') !== 'page');
  const link = (number: number) => `${path}?${[...others, `page=${number}`].join('&')}`;
  return {
    first: link(1),
    last: link(lastPage),
    prev: page > 1 ? link(Math.min(page - 1, lastPage)) : null,
    next: page < lastPage ? link(page + 1) : null,
  };
}

/** `links` and `meta` of a list of the monitoring API. An empty list has one page. */
export function pageOf(url: Url, { page, pageSize, counted }: { page: number; pageSize: number; counted: { total: number }[] }) {
  const total = counted[0]?.total ?? 0;
  const pageCount = Math.max(1, Math.ceil(total / pageSize));
  return { links: pageLinks(url, page, pageCount), meta: { page, pageSize, pageCount, total } };
}
