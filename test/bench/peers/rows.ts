// The statements and response bodies that the baseline and the peers share.

const websiteColumns =
  'id, domain, privacy, password_hash, email, exclude_bots, exclude_params, exclude_ips, favorite, created_at, updated_at';
const monitorColumns =
  'id, friendly_name, url, type, interval_seconds, is_active, status, last_checked_at, last_response_time_ms, last_error, created_at, updated_at';
const incidentColumns = 'id, monitor_id, started_at, resolved_at, cause, status_code';

export const statements = {
  website: `select ${websiteColumns} from websites where user_id = $1 and id = $2`,
  monitor: `select ${monitorColumns} from monitors where user_id = $1 and id = $2`,
  websites: `select ${websiteColumns}, (select website_count from users where id = $1) as total
    from websites where user_id = $1 order by id desc limit $2`,
  incidents: `select ${incidentColumns}, count(*) over () as total from incidents where user_id = $1 and monitor_id = $2
    and (resolved_at is null or resolved_at > now() - interval '1 year') order by started_at desc, id desc limit 100`,
  create: `insert into websites (user_id, domain) values ($1, $2) returning ${websiteColumns}`,
  patch: `update websites set favorite = $3, version = version + 1, updated_at = clock_timestamp()
    where user_id = $1 and id = $2 returning ${websiteColumns}`,
};

export interface WebsiteRow {
  id: number;
  domain: string;
  privacy: number;
  password_hash: string | null;
  email: number;
  exclude_bots: number;
  exclude_params: string;
  exclude_ips: string;
  favorite: boolean;
  created_at: Date;
  updated_at: Date;
  total?: number;
}

export const websiteOf = (row: WebsiteRow) => ({
  id: row.id,
  domain: row.domain,
  privacy: row.privacy,
  has_password: row.password_hash !== null,
  email: row.email,
  exclude_bots: row.exclude_bots,
  exclude_params: row.exclude_params,
  exclude_ips: row.exclude_ips,
  favorite: row.favorite,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});

export interface MonitorRow {
  id: number;
  friendly_name: string;
  url: string;
  type: string;
  interval_seconds: number;
  is_active: boolean;
  status: string;
  last_checked_at: Date | null;
  last_response_time_ms: number | null;
  last_error: string | null;
  created_at: Date;
  updated_at: Date;
}

export const monitorOf = (row: MonitorRow) => ({
  id: row.id,
  friendly_name: row.friendly_name,
  url: row.url,
  type: row.type,
  interval: row.interval_seconds,
  is_active: row.is_active,
  status: row.status,
  last_checked_at: row.last_checked_at?.toISOString() ?? null,
  last_response_time_ms: row.last_response_time_ms,
  last_error: row.last_error,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});

export interface IncidentRow {
  id: number;
  monitor_id: number;
  started_at: Date;
  resolved_at: Date | null;
  cause: string;
  status_code: number | null;
  total?: number;
}

const incidentOf = (row: IncidentRow) => ({
  id: row.id,
  monitor_id: row.monitor_id,
  status: row.resolved_at ? 'resolved' : 'open',
  started_at: row.started_at.toISOString(),
  resolved_at: row.resolved_at?.toISOString() ?? null,
  duration_seconds: row.resolved_at ? Math.round((row.resolved_at.getTime() - row.started_at.getTime()) / 1000) : null,
  cause: row.cause,
  status_code: row.status_code,
});

/** Returns the first page of a list, as the scenarios request it. */
export function websiteList(rows: WebsiteRow[], total: number, perPage: number) {
  const link = (page: number) => `/api/v1/websites?per_page=${perPage}&page=${page}`;
  const last = Math.ceil(total / perPage);
  return {
    data: rows.map(websiteOf),
    links: { first: link(1), last: link(last), prev: null, next: link(2) },
    meta: { current_page: 1, per_page: perPage, last_page: last, total, from: 1, to: rows.length },
  };
}

export function incidentList(rows: IncidentRow[], total: number, monitorId: number) {
  const link = (page: number) => `/api/monitors/${monitorId}/incidents?window=1y&page=${page}`;
  const pageCount = Math.ceil(total / 100);
  return {
    data: rows.map(incidentOf),
    links: { first: link(1), last: link(pageCount), prev: null, next: link(2) },
    meta: { page: 1, pageSize: 100, pageCount, total },
  };
}
