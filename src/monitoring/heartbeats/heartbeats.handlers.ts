import type { operations } from '../../../generated/types/monitoring.ts';
import { ProblemError } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { hashToken } from '../checks/heartbeat/heartbeat.options.ts';
import type { HeartbeatReceiver } from './receiver.ts';

type HeartbeatOperations = Pick<operations, 'getHeartbeat' | 'sendHeartbeat' | 'getHeartbeatFailure' | 'sendHeartbeatFailure'>;

export interface HeartbeatDeps {
  heartbeats: Pick<HeartbeatReceiver, 'receive'>;
}

export function heartbeatHandlers({ heartbeats }: HeartbeatDeps): Handlers<HeartbeatOperations, unknown> {
  const receive = async ({ token }: { token: string }, outcome: 'up' | 'down') => {
    const reception = await heartbeats.receive({ hash: hashToken(token), succeeded: outcome === 'up' });
    if (!reception) throw new ProblemError('not_found', 'No monitor has this token. Copy heartbeat_url from the monitor.');
    return { body: { data: { outcome: reception === 'ignored' ? ('ignored' as const) : outcome } } };
  };
  return {
    getHeartbeat: ({ path }) => receive(path, 'up'),
    sendHeartbeat: ({ path }) => receive(path, 'up'),
    getHeartbeatFailure: ({ path }) => receive(path, 'down'),
    sendHeartbeatFailure: ({ path }) => receive(path, 'down'),
  };
}
