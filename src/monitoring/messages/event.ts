import type { components } from '../../../generated/types/monitoring.ts';

type Monitor = components['schemas']['Monitor'];
type Incident = components['schemas']['Incident'];

/** What has happened, as it was then. It is stored with the alerts about it, and webhooks send it. */
export type AlertEvent =
  | Event<'monitor.down', { monitor: Monitor; incident: Incident }>
  | Event<'monitor.reminder', { monitor: Monitor; incident: Incident }>
  | Event<'monitor.recovered', { monitor: Monitor; incident: Incident }>
  | Event<'monitor.tls_expiring', { monitor: Monitor; incident: null }>
  | (Event<'monitor.tls_renewed', { monitor: Monitor; incident: null }> & ReplacedCertificate)
  | Event<'provider.failing', FailingProvider>
  | Event<'alerts.suppressed', ReachedLimit>
  | Event<'recipient.confirmation', RecipientConfirmation>
  | Event<'test', Record<string, never>>;

interface Event<Type extends string, Data> {
  type: Type;
  /** When it has happened. */
  timestamp: string;
  data: Data;
}

export type EventType = AlertEvent['type'];

interface FailingProvider {
  provider_id: number;
  provider_type: string;
  provider_name: string | null;
  failing_since: string;
  last_delivery_error: string | null;
}

interface ReachedLimit {
  provider_id: number;
  provider_type: string;
  /** Such as "100 messages per hour for this provider". */
  limit: string;
  /** When messages are sent again. */
  until: string;
}

/** Only the recipient gets it. */
interface RecipientConfirmation {
  provider_id: number;
  recipient: string;
  /** The address of the user who wants to send alerts. */
  account: string;
  /** The name of the installation. */
  installation: string;
  /** The link that confirms the address. It is a credential of the recipient, so nobody else may see it. */
  url: string;
}

interface ReplacedCertificate {
  /** When the certificate would have expired that users were warned of. */
  replacedExpiry: string;
}

/** What messages say besides the event. It is not a part of the contract. */
export interface EventContext {
  /** The last response before the failure. */
  lastGood?: { at: string; ms: number | null } | null;
}

/** An event as alerts store it. */
export type StoredEvent = AlertEvent & EventContext;

export type EventOf<Type extends EventType> = Extract<StoredEvent, { type: Type }>;
