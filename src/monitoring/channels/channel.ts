/** What is to be told. */
export interface Message {
  /** The same each time this message is tried again, so that mail programs can tell that it is. */
  id: string;
  subject: string;
  /** Whole in itself: channels without a subject send only this. */
  text: string;
}

/** What a provider of each type says about where its messages go. */
export interface Targets {
  email: { recipientEmail: string };
  slack: { webhookUrl: string; channel?: string | null; username?: string | null };
  telegram: { chatId: string; token: string };
  sms: { phoneNumber: string };
}

export type ProviderType = keyof Targets;

/** One way to deliver a message. */
export interface Channel<Target> {
  /** The setting without which nothing can be sent; undefined when all are there. */
  missingSetting(): string | undefined;
  /** Returns once the other side has taken the message; throws DeliveryFailed if it did not. */
  send(target: Target, message: Message): Promise<void>;
}

/** How long a delivery may take, and how much of what the other side says is read. */
export interface Limits {
  timeoutMs: number;
  maxBytes: number;
}

/** The message is a sentence for the user, and holds no secret. */
export class DeliveryFailed extends Error {
  /** Trying again would not help. */
  readonly permanent: boolean;
  /** When the other side wants to be asked again, if it said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: string, { permanent, retryAfterSeconds }: { permanent: boolean; retryAfterSeconds?: number | undefined }) {
    super(reason);
    this.permanent = permanent;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Passing, because the operator may still set it. */
export function notSetUp(setting: string): DeliveryFailed {
  return new DeliveryFailed(`The operator of this service has not set ${setting}.`, { permanent: false });
}
