import type { operations } from '../../../generated/types/monitoring.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, NotFound } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { selectPage } from '../monitors/monitor.list.ts';
import { readOverview } from './overview.ts';
import { readChecks } from './read-checks.ts';
import { readStatistics } from './read-statistics.ts';
import { checkView, statisticsView } from './statistics.view.ts';

type StatisticsOperations = Pick<operations, 'showStatistics' | 'listStatistics' | 'showOverview' | 'listChecks'>;

export interface StatisticsDeps {
  /** The time in milliseconds. */
  now(): number;
}

export function statisticsHandlers({ now }: StatisticsDeps): Handlers<StatisticsOperations, UserDatabase> {
  return {
    async showStatistics({ path: { id }, query: { window, resolution } }, { caller: { userId }, db }) {
      if (resolution && window !== '24h') throw new InvalidRequest([resolutionError]);
      const [statistics] = await readStatistics(db.query, { userId, monitorIds: [id], window, resolution }, now());
      if (!statistics) throw new NotFound('Monitor', id);
      return { body: { data: statisticsView(statistics) } };
    },

    async listStatistics({ query, url }, { caller: { userId }, db }) {
      const { page, pageSize, window } = query;
      const [monitors, counted] = await db.query(...selectPage(query));
      const statistics = await readStatistics(db.query, { userId, monitorIds: monitors.map(({ id }) => id), window }, now());
      return { body: { data: statistics.map(statisticsView), ...pageMeta(url, { page, pageSize, counted }) } };
    },

    async showOverview(_, { caller: { userId }, db }) {
      return { body: { data: await readOverview(db.query, userId, now()) } };
    },

    async listChecks({ path: { id }, query: { outcome, page, pageSize }, url }, { db }) {
      const checks = await readChecks(db.query, id, now());
      if (!checks) throw new NotFound('Monitor', id);
      const matching = checks.filter(({ failure }) => outcome === undefined || (outcome === 'down') === (failure !== undefined));
      const data = matching.slice((page - 1) * pageSize, page * pageSize).map(checkView);
      return { body: { data, ...pageMeta(url, { page, pageSize, counted: [{ total: matching.length }] }) } };
    },
  };
}

const resolutionError = {
  in: 'query',
  name: 'resolution',
  code: 'needs_window_24h',
  message: 'can be used only with the window 24h',
} as const;
