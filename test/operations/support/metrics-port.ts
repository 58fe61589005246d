import type { RunningProcess } from '../../support/process.ts';

/** Returns the URL of the metrics port that a process has printed. */
export function metricsUrl({ printed }: Pick<RunningProcess, 'printed'>): string {
  const [, url = ''] = /Serving metrics on (http:[^"]+)\/metrics"/.exec(printed()) ?? [];
  return url;
}

/** Requests a health check, and returns its status and body. */
export async function getHealth(process: Pick<RunningProcess, 'printed'>, path: '/healthz' | '/readyz'): Promise<[number, unknown]> {
  const response = await fetch(`${metricsUrl(process)}${path}`);
  return [response.status, await response.json()];
}
