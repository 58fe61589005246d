import type { components } from '../../../generated/types/monitoring.ts';

type Monitor = components['schemas']['Monitor'];
type Incident = components['schemas']['Incident'];

/** What has happened, as it was then. It is stored with the alerts about it, and webhooks send it. */
export type AlertEvent =
  | Event<'monitor.down', { monitor: Monitor; incident: Incident }>
  | Event<'monitor.recovered', { monitor: Monitor; incident: Incident }>
  | Event<'monitor.tls_expiring', { monitor: Monitor; incident: null }>
  | Event<'test', Record<string, never>>;

interface Event<Type extends string, Data> {
  type: Type;
  /** When it has happened. */
  timestamp: string;
  data: Data;
}

export type EventType = AlertEvent['type'];

/** What messages say besides the event. It is not a part of the contract. */
export interface EventContext {
  /** The last response before the failure. */
  lastGood?: { at: string; ms: number | null } | null;
}

/** An event as alerts store it. */
export type StoredEvent = AlertEvent & EventContext;
