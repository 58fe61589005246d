// The texts of alerts. Pure: no clock, no database.

interface AlertedIncident {
  name: string;
  url: string;
  cause: string;
  startedAt: Date;
  resolvedAt: Date;
}

export interface AlertText {
  subject: string;
  text: string;
}

export function downMessage({ name, url, cause, startedAt }: Omit<AlertedIncident, 'resolvedAt'>): AlertText {
  return { subject: `DOWN: ${name}`, text: `DOWN: ${name} (${url}) since ${time(startedAt)}: ${cause}` };
}

export function recoveredMessage({ name, url, startedAt, resolvedAt }: AlertedIncident): AlertText {
  return {
    subject: `UP: ${name}`,
    text: `UP: ${name} (${url}) is back after ${duration(resolvedAt.getTime() - startedAt.getTime())}, at ${time(resolvedAt)}`,
  };
}

function time(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Formats the two largest units that are not zero: 1 h 5 min, 42 s. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}
