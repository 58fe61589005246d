import type { Seeded } from './seed.ts';

export interface Scenario {
  name: string;
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  /** What the limit is asked instead; it knows no refusals. */
  limitPath?: string;
  form?: () => string;
  /** Instead of the key that may do everything. */
  authorization?: string;
  /** Whether the contender that allows one request a minute is asked. */
  overLimit?: boolean;
  status: number;
  /** How long a round may last, where an address may be refused only so often. */
  atMostSeconds?: number;
  /** Requests a second, as a part of the limit's, of peer A's and of peer B's. */
  goals: { limit: number; a?: number; b?: number };
}

let made = 0;

export function scenariosFor({ websiteId, monitorId }: Seeded): Scenario[] {
  const website = `/api/v1/websites/${websiteId}`;
  const reads = { a: 1, b: 2.5 };
  return [
    { name: 'show a website', method: 'GET', path: website, status: 200, goals: { limit: 0.7, ...reads } },
    { name: 'show a monitor', method: 'GET', path: `/api/monitors/${monitorId}`, status: 200, goals: { limit: 0.7, ...reads } },
    { name: 'list 25 websites', method: 'GET', path: '/api/v1/websites?per_page=25', status: 200, goals: { limit: 0.75, b: 2.5 } },
    { name: 'list 100 websites', method: 'GET', path: '/api/v1/websites?per_page=100', status: 200, goals: { limit: 0.8, b: 2.5 } },
    {
      name: 'incidents of a year',
      method: 'GET',
      path: `/api/monitors/${monitorId}/incidents?window=1y`,
      status: 200,
      goals: { limit: 0.7, b: 2.5 },
    },
    {
      name: 'create a website',
      method: 'POST',
      path: '/api/v1/websites',
      form: () => `domain=new-${process.pid}-${++made}.example.com`,
      status: 201,
      goals: { limit: 0.6 },
    },
    {
      name: 'update a website',
      method: 'PATCH',
      path: website,
      form: () => `favorite=${++made % 2 === 0}`,
      status: 200,
      goals: { limit: 0.6 },
    },
    {
      name: 'refuse a bad key (401)',
      method: 'GET',
      path: website,
      limitPath: '/noop',
      authorization: 'Bearer stkp_wrong',
      status: 401,
      atMostSeconds: 1,
      goals: { limit: 0.7 },
    },
    {
      name: 'refuse over the limit (429)',
      method: 'GET',
      path: website,
      limitPath: '/noop',
      overLimit: true,
      status: 429,
      goals: { limit: 0.7 },
    },
  ];
}
