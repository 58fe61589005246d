// What could go wrong with an answer. Each fault spoils the answer to a case of its own; the contract run and the
// response check must catch every one.
import type { ApiResponse } from '../../support/api-client.ts';

export interface Fault {
  title: string;
  /** As titleOf names the case. */
  on: string;
  plant(answer: ApiResponse): void;
  /** It breaks no rule of the contract; only who knows what was asked, and by whom, can see it. */
  unseen?: true;
}

export const faults: Fault[] = [
  // Types and values
  inBody('an id as a string', 'showWebsite 200 website', ({ data }) => ({ data: { ...data, id: String(data.id) } })),
  inData('a number instead of a boolean', 'updateWebsite 200 updated', { favorite: 1 }),
  inData('a value outside the list', 'createMonitor 201 created', { status: 'unknown' }),
  inData('a number out of range', 'showMonitor 200 up', { interval: 5 }),
  inData('a null where none may be', 'showWebsiteByDomain 200 website', { domain: null }),
  inData('a time that is none', 'putWebsite 200 updated', { updated_at: 'yesterday' }),
  inData('a time that is not UTC', 'createWebsite 201 created', { created_at: '2026-11-10T07:30:00+0200' }),
  inData('a time without milliseconds', 'showMonitor 200 down', { created_at: '2026-11-10T07:30:00Z' }),
  inData('an item of another kind', 'showProvider 200 email', { provider_type: 'sms' }),
  unseen(inData('another value than was sent', 'updateMonitor 200 renamed', { friendly_name: 'Something else' })),
  inData('an update before the creation', 'updateProvider 200 email', { updated_at: '2000-01-01T00:00:00.000Z' }),
  inData('an active monitor that is paused', 'updateMonitor 200 paused', { is_active: true }),

  // Fields
  inBody('a missing field', 'createProvider 201 sms', ({ data: { phone_number, ...data } }) => ({ data })),
  inData('a surplus field', 'createProvider 201 email', { user_id: 1 }),
  inData('a hash that must not leave', 'createWebsite 201 with_password', { password_hash: '$argon2id$' }),
  inData('an unmasked token', 'createProvider 201 telegram', { token: '12345:EXAMPLE_not_a_real_token_EXAMPLE_x9Yz' }),
  inData('an unmasked webhook', 'createProvider 201 slack', { webhook_url: 'https://hooks.slack.com/services/T0/B0/x' }),
  inBody('no envelope', 'showSession 200 session', ({ data }) => data),
  inBody('a string instead of an object', 'testProvider 200 accepted', () => 'accepted'),

  // Lists
  inBody('a wrong total', 'listWebsites 200 two_websites', (page) => ({ ...page, meta: { ...page.meta, total: 3 } })),
  inBody('a wrong number of pages', 'listMonitors 200 two_monitors', (page) => ({ ...page, meta: { ...page.meta, pageCount: 2 } })),
  inBody('an empty list that starts somewhere', 'listWebsites 200 none', (page) => ({ ...page, meta: { ...page.meta, from: 1 } })),
  inBody('a missing link', 'listProviders 200 one_of_each', ({ links: { last, ...links }, ...page }) => ({ ...page, links })),
  inBody('a link to another list', 'listProviders 200 none', (page) => ({ ...page, links: { ...page.links, first: '/api/keys?page=1' } })),
  inBody('a next page after the last', 'listMonitors 200 none', (page) => ({
    ...page,
    links: { ...page.links, next: '/api/monitors?page=2' },
  })),
  unseen(
    inBody("another user's key", 'listKeys 200 two_keys', (page) => ({
      ...page,
      data: [{ ...page.data[0], id: 1 }, ...page.data.slice(1)],
    })),
  ),
  inBody('an incident of another monitor', 'listIncidents 200 open', (page) => ({
    ...page,
    data: page.data.map((incident: object) => ({ ...incident, monitor_id: 1 })),
  })),
  inBody('a wrong length of an outage', 'listIncidents 200 resolved', (page) => ({
    ...page,
    data: page.data.map((incident: object) => ({ ...incident, duration_seconds: 1 })),
  })),
  inBody('one item too few', 'listNotifications 200 two_providers', (page) => ({ ...page, data: page.data.slice(1) })),

  // What was named and what is answered
  inBody('the deletion of something else', 'deleteMonitor 200 deleted', (body) => ({ ...body, id: body.id + 1 })),
  inBody('nothing that was deleted', 'deleteWebsite 200 deleted', (body) => ({ ...body, deleted: false })),
  unseen(inBody('yes to the wrong password', 'verifyWebsitePassword 200 stays_shut', () => ({ data: { opens: true } }))),
  inData('a key with another prefix', 'createKey 201 created', { prefix: 'stkp_ZZZZ' }),

  // Statuses
  withStatus('200 instead of 201', 'createSession 201 signed_in', 200),
  unseen(withStatus('201 instead of 200', 'addNotification 200 set', 201)),
  withStatus('a status that is not declared', 'listNotifications 200 none', 206),
  withStatus('403 instead of 404', 'showMonitor 404 not_found', 403),
  withStatus('400 instead of 422', 'createMonitor 422 two_faults', 400),
  {
    title: 'a body where none may be',
    on: 'showProvider 304',
    plant(answer) {
      answer.text = '{}';
      answer.body = {};
    },
  },

  // Headers
  withHeader('another media type', 'createKey 201 read_only', 'Content-Type', 'application/json; charset=utf-8'),
  withHeader('a problem as plain JSON', 'listWebsites 401 unauthenticated', 'Content-Type', 'application/json'),
  withHeader('no Location', 'createMonitor 201 ping', 'Location'),
  withHeader('a Location that leads elsewhere', 'createWebsite 201 international', 'Location', '/api/v1/websites/1'),
  withHeader('no ETag', 'showProvider 200 slack', 'ETag'),
  withHeader('no ETag on a 304', 'showWebsiteByDomain 304', 'ETag'),
  withHeader('a weak ETag', 'updateProvider 200 sms', 'ETag', 'W/"2"'),
  withHeader('no request id', 'deleteProvider 200 deleted', 'X-Request-Id'),
  withHeader('no WWW-Authenticate', 'deleteWebsite 401 invalid_key', 'WWW-Authenticate'),
  withHeader('no Retry-After', 'createMonitor 429 rate_limited', 'Retry-After'),
  withHeader('a limit that is no number', 'checkMonitor 202 before_the_check', 'X-RateLimit-Limit', 'many'),
  withHeader('limits that differ', 'listIncidents 200 none', 'X-RateLimit-Remaining', '7'),
  withHeader('no cookie', 'deleteSession 200 signed_out', 'Set-Cookie'),

  // Problems
  inBody('another code', 'createWebsite 409 domain_taken', (body) => ({ ...body, code: 'quota_exceeded' })),
  inBody('no code', 'listMonitors 403 missing_scope', ({ code, ...body }) => body),
  inBody('another status in the body', 'updateMonitor 412 precondition_failed', (body) => ({ ...body, status: 409 })),
  inBody('another instance', 'deleteMonitor 404 not_found', (body) => ({ ...body, instance: '/api/monitors/1' })),
  inBody('another request id in the body', 'createKey 415 unsupported_media_type', (body) => ({ ...body, request_id: 'another' })),
  inBody('a type that explains another problem', 'createKey 413 body_too_large', (body) => ({ ...body, type: `${body.type}r` })),
  inBody('a 422 without errors', 'createProvider 422 bad_phone_number', ({ errors, ...body }) => body),
  unseen(
    inBody('another fault', 'createProvider 422 field_of_other_type', (body) => ({
      ...body,
      errors: [{ ...body.errors[0], pointer: '/token' }],
    })),
  ),
  inBody('a problem of another shape', 'createUser 409 email_taken', ({ code, detail }) => ({ error: code, message: detail })),
  inBody('a stack trace', 'testProvider 502 refused', (body) => ({ ...body, stack: 'Error: at deliver (deliver.ts:1)' })),
];

function unseen(fault: Fault): Fault {
  return { ...fault, unseen: true };
}

type Edit = (body: ApiResponse['body']) => unknown;

function inBody(title: string, on: string, edit: Edit): Fault {
  return {
    title,
    on,
    plant(answer) {
      answer.body = edit(answer.body);
      answer.text = JSON.stringify(answer.body);
    },
  };
}

function inData(title: string, on: string, fields: object): Fault {
  return inBody(title, on, ({ data }) => ({ data: { ...data, ...fields } }));
}

function withStatus(title: string, on: string, status: number): Fault {
  return {
    title,
    on,
    plant(answer) {
      answer.status = status;
    },
  };
}

/** Without a value it is taken away. */
function withHeader(title: string, on: string, name: string, value?: string): Fault {
  return { title, on, plant: ({ headers }) => (value === undefined ? headers.delete(name) : headers.set(name, value)) };
}
