import { expect } from 'vitest';
import type { startReceivers } from '../../support/receivers.ts';
import type { TestService, TestUser } from '../../support/service.ts';
import { queueOutages } from '../alerts/queue-outages.ts';
import { createMonitor } from '../factories.ts';

type Receivers = Awaited<ReturnType<typeof startReceivers>>;

let addressCount = 0;

/** An address that has not got any mail. */
export const newAddress = () => `recipient${++addressCount}@example.com`;

/** Creates an e-mail provider and returns its id. */
export async function createRecipient({ api }: TestUser, address: string): Promise<number> {
  const { status, body } = await api.post('/api/providers', { json: { provider_type: 'email', recipient_email: address } });
  expect(status).toBe(201);
  return body.data.id;
}

/** The mails that an address has got. */
export function mailsTo({ mail }: Receivers, address: string) {
  return mail.mails.filter(({ recipients }) => recipients.includes(address)).map(({ parsed }) => parsed);
}

/** Waits for the mails with a link to an address, and returns the links. */
export async function linksTo(receivers: Receivers, address: string, count = 1): Promise<string[]> {
  const links = () => mailsTo(receivers, address).flatMap(({ text = '' }) => /^Confirm the address: (\S+)$/m.exec(text)?.[1] ?? []);
  await expect.poll(() => links().length, { timeout: 15_000 }).toBe(count);
  return links();
}

/** Returns the link of a new address, or the last one. */
export async function linkTo(receivers: Receivers, address: string, count = 1): Promise<string> {
  return (await linksTo(receivers, address, count)).at(-1) ?? '';
}

/** Requests the page of a link, or presses its button. */
export async function open(link: string, method = 'GET', init: RequestInit = {}) {
  const response = await fetch(link, { method, ...init });
  const text = await response.text();
  return { status: response.status, title: /<h1>(.*)<\/h1>/.exec(text)?.[1], text, headers: response.headers };
}

export const press = (link: string) => open(link, 'POST');

/** Queues an alert about an outage. */
export async function queueOutage({ database }: TestService, user: TestUser, providerId: number): Promise<void> {
  const { id: monitorId } = await createMonitor(user, { is_active: false });
  await queueOutages(database, { userId: user.id, monitorId, providerId, count: 1 });
}

export async function deliveriesOf({ api }: TestUser, providerId: number) {
  const { body } = await api.get(`/api/providers/${providerId}/deliveries`);
  return (body.data as { event: string; status: string; last_error: string | null }[]).map(({ event, status, last_error }) => [
    event,
    status,
    last_error,
  ]);
}

/** Waits until no delivery of the provider is queued, and returns them, newest first. */
export async function endedDeliveriesOf(user: TestUser, providerId: number, count: number) {
  const ended = async () => (await deliveriesOf(user, providerId)).filter(([, status]) => status !== 'queued').length;
  await expect.poll(ended, { timeout: 15_000 }).toBe(count);
  return deliveriesOf(user, providerId);
}
