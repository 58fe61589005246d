// All MikroORM entities. They are listed here rather than in app.ts, so that the command line can open the database without
// loading HTTP code.
import { ApiKeyEntity } from './accounts/api-key.entity.ts';
import { SessionEntity } from './accounts/session.entity.ts';
import { UserEntity } from './accounts/user.entity.ts';
import { IdempotentResponseEntity } from './db/idempotent-response.entity.ts';
import { AlertEntity } from './monitoring/alerts/alert.entity.ts';
import { InstallationEntity } from './monitoring/alerts/installation.entity.ts';
import { MessageCountEntity } from './monitoring/alerts/message-count.entity.ts';
import { IncidentEntity } from './monitoring/incidents/incident.entity.ts';
import { MonitorEntity } from './monitoring/monitors/monitor.entity.ts';
import { NotificationEntity } from './monitoring/notifications/notification.entity.ts';
import { ProviderEntity } from './monitoring/providers/provider.entity.ts';
import { CheckLogEntity } from './monitoring/statistics/check-log.entity.ts';
import { DayStatisticsEntity } from './monitoring/statistics/day-statistics.entity.ts';
import { DeletedMonitorEntity } from './monitoring/statistics/deleted-monitor.entity.ts';
import { HourStatisticsEntity } from './monitoring/statistics/hour-statistics.entity.ts';
import { RollUpProgressEntity } from './monitoring/statistics/roll-up-progress.entity.ts';
import { WebsiteEntity } from './websites/website.entity.ts';

export const entities = [
  UserEntity,
  SessionEntity,
  ApiKeyEntity,
  WebsiteEntity,
  MonitorEntity,
  IncidentEntity,
  ProviderEntity,
  NotificationEntity,
  AlertEntity,
  MessageCountEntity,
  InstallationEntity,
  CheckLogEntity,
  HourStatisticsEntity,
  DayStatisticsEntity,
  DeletedMonitorEntity,
  RollUpProgressEntity,
  IdempotentResponseEntity,
];
