import type { Seeded } from './seed.ts';

export interface Scenario {
  name: string;
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  /** The path for the baseline, which does not implement rejections. */
  limitPath?: string;
  form?: () => string;
  /** Replaces the key with all scopes. */
  authorization?: string;
  /** Whether the requests go to the contender that allows one request per minute. */
  overLimit?: boolean;
  status: number;
  /** The longest duration of a round, because the number of failed attempts per address is limited. */
  atMostSeconds?: number;
  /** The goals for requests per second of the service, divided by those of the baseline and of the peers. */
  goals: { limit: number; fastify?: number; express?: number };
}

let counter = 0;

export function scenariosFor({ websiteId, monitorId }: Seeded): Scenario[] {
  const website = `/api/v1/websites/${websiteId}`;
  const reads = { fastify: 1, express: 2.5 };
  return [
    { name: 'show a website', method: 'GET', path: website, status: 200, goals: { limit: 0.7, ...reads } },
    { name: 'show a monitor', method: 'GET', path: `/api/monitors/${monitorId}`, status: 200, goals: { limit: 0.7, ...reads } },
    { name: 'list 25 websites', method: 'GET', path: '/api/v1/websites?per_page=25', status: 200, goals: { limit: 0.75, express: 2.5 } },
    { name: 'list 100 websites', method: 'GET', path: '/api/v1/websites?per_page=100', status: 200, goals: { limit: 0.8, express: 2.5 } },
    {
      name: 'list incidents of a year',
      method: 'GET',
      path: `/api/monitors/${monitorId}/incidents?window=1y`,
      status: 200,
      goals: { limit: 0.7, express: 2.5 },
    },
    {
      name: 'create a website',
      method: 'POST',
      path: '/api/v1/websites',
      form: () => `domain=new-${process.pid}-${++counter}.example.com`,
      status: 201,
      goals: { limit: 0.6 },
    },
    {
      name: 'update a website',
      method: 'PATCH',
      path: website,
      form: () => `favorite=${++counter % 2 === 0}`,
      status: 200,
      goals: { limit: 0.6 },
    },
    {
      name: 'reject an invalid key (401)',
      method: 'GET',
      path: website,
      limitPath: '/noop',
      authorization: 'Bearer stkp_wrong',
      status: 401,
      atMostSeconds: 1,
      goals: { limit: 0.7 },
    },
    {
      name: 'reject above the rate limit (429)',
      method: 'GET',
      path: website,
      limitPath: '/noop',
      overLimit: true,
      status: 429,
      goals: { limit: 0.7 },
    },
  ];
}
