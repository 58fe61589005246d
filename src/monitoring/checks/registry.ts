import type { MonitorCheck, MonitorType } from './check.ts';
import { heartbeatCheck } from './heartbeat/heartbeat.check.ts';
import { httpCheck } from './http/http.check.ts';
import { LocalFailure } from './local-failure.ts';
import { pingCheck } from './ping/ping.check.ts';
import { tcpCheck } from './tcp/tcp.check.ts';

/** One check for each monitor type of the contract. */
export type CheckRegistry = Readonly<Record<MonitorType, MonitorCheck>>;

/** The check of each monitor type. A type of the contract that is missing here does not compile. */
export const checks: CheckRegistry = {
  http: httpCheck,
  ping: pingCheck,
  tcp: tcpCheck,
  heartbeat: heartbeatCheck,
};

/** Returns the check of a stored monitor. Its type is unknown to this version if a newer one has stored it. */
export function checkOf(type: MonitorType): MonitorCheck {
  return checks[type] ?? unknownCheck(type);
}

function unknownCheck(type: string): MonitorCheck {
  return {
    targetError: () => ({
      code: 'invalid_target',
      message: `cannot be changed: this version of the service does not know the type ${type}`,
    }),
    hostOf: () => '',
    describe: () => `Nothing: this version of the service does not know the type ${type}.`,
    run: async () => new LocalFailure(`this version of the service does not know the type ${type}`),
  };
}
