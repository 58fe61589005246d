export interface Message {
  /** The same for every retry of this message, so that mail programs recognize duplicates. */
  id: string;
  subject: string;
  /** Complete without the subject, because some channels have none. */
  text: string;
}

/** The destination of messages, per provider type. */
export interface Targets {
  email: { recipientEmail: string };
  slack: { webhookUrl: string; channel?: string | null; username?: string | null };
  telegram: { chatId: string; token: string };
  sms: { phoneNumber: string };
}

export type ProviderType = keyof Targets;

/** Delivers messages of one provider type. */
export interface Channel<Target> {
  /** Returns the name of a setting that the operator must set first, or undefined. */
  missingSetting(): string | undefined;
  /** Resolves once the receiver has accepted the message; otherwise throws DeliveryFailed. */
  send(target: Target, message: Message): Promise<void>;
}

/** Limits how long a delivery takes and how much of the response is read. */
export interface Limits {
  timeoutMs: number;
  maxBytes: number;
}

/** The message is a sentence for the user and contains no secret. */
export class DeliveryFailed extends Error {
  /** Whether a retry cannot succeed. */
  readonly permanent: boolean;
  /** The delay that the receiver asked for. */
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: string, { permanent, retryAfterSeconds }: { permanent: boolean; retryAfterSeconds?: number | undefined }) {
    super(reason);
    this.permanent = permanent;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Not permanent, because the operator can still set it. */
export function notConfigured(setting: string): DeliveryFailed {
  return new DeliveryFailed(`Delivery is not configured on this service. Ask the operator to set ${setting}.`, { permanent: false });
}
