// The texts of alerts. Pure: no clock, no database.
import { formatDuration } from '../format-duration.ts';

interface AlertedMonitor {
  name: string;
  /** Null if the monitor has no target. */
  url: string | null;
}

interface AlertedIncident extends AlertedMonitor {
  cause: string;
  startedAt: Date;
  resolvedAt: Date;
}

export interface AlertText {
  subject: string;
  text: string;
}

export function downMessage({ cause, startedAt, ...monitor }: Omit<AlertedIncident, 'resolvedAt'>): AlertText {
  return { subject: `DOWN: ${monitor.name}`, text: `DOWN: ${titleOf(monitor)} since ${time(startedAt)}: ${cause}` };
}

export function recoveredMessage({ startedAt, resolvedAt, ...monitor }: AlertedIncident): AlertText {
  const duration = formatDuration(resolvedAt.getTime() - startedAt.getTime());
  return { subject: `UP: ${monitor.name}`, text: `UP: ${titleOf(monitor)} is back after ${duration}, at ${time(resolvedAt)}` };
}

/** `now` is the time of the check that found the certificate. */
export function tlsExpiringMessage({ expiresAt, now, ...monitor }: AlertedMonitor & { expiresAt: Date; now: Date }): AlertText {
  const ms = expiresAt.getTime() - now.getTime();
  const verb = ms > 0 ? `expires in ${formatDuration(ms)},` : 'expired';
  return {
    subject: `CERTIFICATE: ${monitor.name}`,
    text: `CERTIFICATE: the TLS certificate of ${titleOf(monitor)} ${verb} at ${time(expiresAt)}`,
  };
}

function titleOf({ name, url }: AlertedMonitor): string {
  return url === null ? name : `${name} (${url})`;
}

function time(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
