import { formatDuration } from '../../format-duration.ts';
import type { CheckTarget, MonitorCheck } from '../check.ts';
import { heartbeatOptions, tokenOf, withDefaults } from './heartbeat.options.ts';

/** Waits for the heartbeats of a job, which heartbeats/ receives. */
export const heartbeatCheck: MonitorCheck = {
  targetError: () => ({ code: 'invalid_target', message: 'must be absent or null for type heartbeat' }),

  hostOf: () => '',

  options: heartbeatOptions,

  passive: {
    graceSeconds: (settings) => withDefaults(settings).grace_seconds,
    receivingPath: (monitor, cipher) => `/api/heartbeats/${tokenOf(monitor, cipher)}`,
  },

  describe: (target) => `Wait for a heartbeat for ${periodOf(target)}.`,

  /** It runs only if no heartbeat has come in time, and for a monitor that is down when its maintenance ends. */
  run: async (target) => ({
    up: false,
    cause: target.downBecause ?? `no heartbeat for ${periodOf(target)}`,
    statusCode: null,
    reply: 'not_asked',
  }),
};

function periodOf({ settings, intervalSeconds }: Pick<CheckTarget, 'settings' | 'intervalSeconds'>): string {
  return formatDuration((intervalSeconds + withDefaults(settings).grace_seconds) * 1000);
}
