import type { components } from '../../../generated/types/monitoring.ts';
import type { DeliverySettings } from '../../config/config.ts';
import type { ValidationError } from '../../errors.ts';
import type { Net } from '../../net/resolve.ts';
import type { StoredEvent } from '../messages/event.ts';
import type { Content } from '../messages/message-content.ts';

type ProviderCreate = components['schemas']['ProviderCreate'];

/** The provider types of the contract. */
export type ProviderType = ProviderCreate['provider_type'];

type Fields<Type extends ProviderType> = Omit<Extract<ProviderCreate, { provider_type: Type }>, 'provider_type' | 'name'>;

/** The settings of a provider: the fields of its type in the contract. An optional field that was never sent is null. */
export type ChannelSettings<Type extends ProviderType> = {
  [Field in keyof Fields<Type>]-?: undefined extends Fields<Type>[Field] ? NonNullable<Fields<Type>[Field]> | null : Fields<Type>[Field];
};

/** What the factories of channels get. */
export interface ChannelDeps {
  settings: DeliverySettings;
  net: Net;
  limits: Limits;
}

/** Limits how long a delivery takes and how much of the response is read. */
export interface Limits {
  timeoutMs: number;
  maxBytes: number;
}

/** Delivers messages of one provider type. Each type has a folder, which exports a function that creates one of these. */
export interface Channel<Settings extends object = Record<string, unknown>> {
  /** Starts the sentence "… delivery is not configured". */
  name: string;
  /** Completes the sentence "The message was accepted by …". */
  receiver: string;
  /** Every field of the type. A secret is stored encrypted and returned masked. An optional field is null if it is absent. */
  fields: { readonly [Field in keyof Settings]: 'plain' | 'optional' | 'secret' };
  /** Who reads the messages. People get one message about many events, and fewer messages an hour than programs. */
  audience: 'people' | 'programs';
  /** Whether messages are signed. Each provider then has a secret for it, which the service creates. */
  isSigned?: true;
  /** How many messages a user can send per day, in addition to the limit of each provider. */
  perUserPerDay?: number;
  /** Returns what a schema cannot express about fields that are sent. */
  check?(fields: Partial<Settings>): ValidationError[];
  /** Converts fields to the form in which they are stored. */
  normalize?(fields: Partial<Settings>): Partial<Settings>;
  /** Returns the name of a setting that the operator must set first, or undefined. */
  missingSetting(): string | undefined;
  /** Resolves once the receiver has accepted the message; otherwise throws DeliveryFailed. */
  send(settings: Settings, message: Message, signing?: Signing): Promise<void>;
}

/** What signs a message. */
export interface Signing {
  /** The newest one first. */
  secrets: readonly string[];
  /** The time of the attempt. */
  at: Date;
}

export interface Message {
  /** Unique in the world, and the same for every attempt to send this message, so that receivers recognize duplicates. */
  id: string;
  /** Identifies what it is about, also in the messages before and after: an incident, a certificate. Unique in the world. */
  topic: string;
  /** The id of the message that this one continues. */
  continues?: string | undefined;
  /** Whose message it is. Users share the time that encryption takes. */
  userId: number;
  /** What has happened. If the message is about several events, one of them. */
  event: StoredEvent;
  content: Content;
}

/** The message is a sentence for the user and contains no secret. */
export class DeliveryFailed extends Error {
  /** Whether a retry cannot succeed. */
  readonly permanent: boolean;
  /** The delay that the receiver asked for. */
  readonly retryAfterSeconds: number | undefined;
  /** The settings that the operator has to correct, if the failure is not the user's. */
  readonly settings: readonly string[];

  constructor(reason: string, { permanent, retryAfterSeconds, settings = [] }: FailureOptions) {
    super(reason);
    this.permanent = permanent;
    this.retryAfterSeconds = retryAfterSeconds;
    this.settings = settings;
  }
}

interface FailureOptions {
  permanent: boolean;
  retryAfterSeconds?: number | undefined;
  settings?: readonly string[];
}

/** Not permanent, because the operator can still set it. */
export function notConfigured(setting: string): DeliveryFailed {
  return new DeliveryFailed(`Delivery is not configured on this service. Ask the operator to set ${setting}.`, {
    permanent: false,
    settings: [setting],
  });
}
