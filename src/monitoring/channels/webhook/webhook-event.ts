import type { components } from '../../../../generated/types/monitoring.ts';
import type { StoredEvent } from '../../messages/event.ts';

type Incident = components['schemas']['Incident'];

/** The fields that older versions did not store. Their alerts may still be sent. */
const absentBefore: Partial<Incident> = { acknowledged_at: null };

/** Returns an event as the contract defines it, without what only messages to people say. */
export function webhookEvent({ type, timestamp, data }: StoredEvent): components['schemas']['WebhookEvent'] {
  const complete = 'incident' in data && data.incident ? { ...data, incident: { ...absentBefore, ...data.incident } } : data;
  // The compiler does not see that the data is still that of the type.
  return { type, timestamp, data: complete } as components['schemas']['WebhookEvent'];
}
