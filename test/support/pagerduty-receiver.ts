import { z } from 'zod';
import { scripts, type WebServer } from './web-server.ts';

const routingKey = z.string().regex(/^[A-Za-z0-9]{32}$/);
const dedupKey = z.string().min(1).max(255);

/** The events of the Events API v2 that this service sends, with the limits of its documentation. */
export const eventSchema = z.discriminatedUnion('event_action', [
  z.strictObject({
    routing_key: routingKey,
    event_action: z.literal('trigger'),
    dedup_key: dedupKey,
    client: z.string().min(1),
    payload: z.strictObject({
      summary: z.string().min(1).max(1024),
      source: z.string().min(1).max(255),
      severity: z.enum(['critical', 'error', 'warning', 'info']),
      timestamp: z.iso.datetime(),
      component: z.string().min(1).max(255).optional(),
      group: z.string().min(1).max(255).optional(),
      class: z.string().min(1),
      custom_details: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
    }),
    links: z.array(z.strictObject({ href: z.url({ protocol: /^https?$/ }), text: z.string().min(1) })),
  }),
  z.strictObject({ routing_key: routingKey, event_action: z.literal('resolve'), dedup_key: dedupKey }),
]);

export type ReceivedEvent = z.infer<typeof eventSchema>;

const maxBytes = 512 * 1024;

/** Responds like PagerDuty. */
export const acceptPagerDutyEvent: WebServer['script'] = (request, response) => {
  const parsed = eventSchema.safeParse(JSON.parse(request.body));
  const isJson = request.headers['content-type'] === 'application/json';
  if (request.path !== '/v2/enqueue') return scripts.respond('Not found', 404)(request, response);
  if (!parsed.success || !isJson || Buffer.byteLength(request.body) > maxBytes) {
    const errors = parsed.error?.issues.map(({ message }) => message) ?? [];
    const body = JSON.stringify({ status: 'invalid event', message: 'Event object is invalid', errors });
    return scripts.respond(body, 400)(request, response);
  }
  const body = JSON.stringify({ status: 'success', message: 'Event processed', dedup_key: parsed.data.dedup_key });
  return scripts.respond(body, 202)(request, response);
};

/** Parses an event that was accepted. */
export function pagerDutyEvent(body: string): ReceivedEvent {
  return eventSchema.parse(JSON.parse(body));
}

/** The keys of the incidents that events have left open. */
export function openIncidents(events: ReceivedEvent[]): string[] {
  const open = new Set<string>();
  for (const { event_action: action, dedup_key: key } of events) {
    if (action === 'trigger') open.add(key);
    else open.delete(key);
  }
  return [...open];
}
