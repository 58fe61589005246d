// Faults that a response could have. Each one is injected into the response of a different case. The contract run and the
// response check must detect every one.
import type { ApiResponse } from '../../support/api-client.ts';

export interface Fault {
  title: string;
  /** The title of the case, as returned by titleOf. */
  caseTitle: string;
  inject(response: ApiResponse): void;
  /** The response still conforms to the contract. Only a check that knows the request and its user can detect the fault. */
  conformsToContract?: true;
}

export const faults: Fault[] = [
  // Types and values
  inBody('an id as a string', 'showWebsite 200 website', ({ data }) => ({ data: { ...data, id: String(data.id) } })),
  inData('a number instead of a boolean', 'updateWebsite 200 updated', { favorite: 1 }),
  inData('a value that is not in the enum', 'createMonitor 201 created', { status: 'unknown' }),
  inData('a number out of range', 'showMonitor 200 up', { interval: 5 }),
  inData('null in a field that is not nullable', 'showWebsiteByDomain 200 website', { domain: null }),
  inData('a time that cannot be parsed', 'putWebsite 200 updated', { updated_at: 'yesterday' }),
  inData('a time that is not UTC', 'createWebsite 201 created', { created_at: '2026-11-10T07:30:00+0200' }),
  inData('a time without milliseconds', 'showMonitor 200 down', { created_at: '2026-11-10T07:30:00Z' }),
  inData('a provider type that contradicts the fields', 'showProvider 200 email', { provider_type: 'sms' }),
  conforming(inData('a value that was not sent', 'updateMonitor 200 renamed', { friendly_name: 'Something else' })),
  inData('updated_at before created_at', 'updateProvider 200 email', { updated_at: '2000-01-01T00:00:00.000Z' }),
  inData('an active monitor with the status paused', 'updateMonitor 200 paused', { is_active: true }),

  // Fields
  inBody('a missing field', 'createProvider 201 sms', ({ data: { phone_number, ...data } }) => ({ data })),
  inData('an undeclared field', 'createProvider 201 email', { user_id: 1 }),
  inData('a password hash', 'createWebsite 201 with_password', { password_hash: '$argon2id$' }),
  inData('an unmasked token', 'createProvider 201 telegram', { token: '12345:EXAMPLE_not_a_real_token_EXAMPLE_x9Yz' }),
  inData('an unmasked webhook', 'createProvider 201 slack', { webhook_url: 'https://hooks.slack.com/services/T0/B0/x' }),
  inBody('no data envelope', 'showSession 200 session', ({ data }) => data),
  inBody('a string instead of an object', 'testProvider 200 accepted', () => 'accepted'),

  // Lists
  inBody('a wrong total', 'listWebsites 200 two_websites', (page) => ({ ...page, meta: { ...page.meta, total: 3 } })),
  inBody('a wrong number of pages', 'listMonitors 200 of_every_type', (page) => ({ ...page, meta: { ...page.meta, pageCount: 2 } })),
  inBody('from set for an empty list', 'listWebsites 200 none', (page) => ({ ...page, meta: { ...page.meta, from: 1 } })),
  inBody('a missing link', 'listProviders 200 one_of_each', ({ links: { last, ...links }, ...page }) => ({ ...page, links })),
  inBody('a link to another list', 'listProviders 200 none', (page) => ({ ...page, links: { ...page.links, first: '/api/keys?page=1' } })),
  inBody('a next page after the last page', 'listMonitors 200 none', (page) => ({
    ...page,
    links: { ...page.links, next: '/api/monitors?page=2' },
  })),
  conforming(
    inBody("another user's key", 'listKeys 200 two_keys', (page) => ({
      ...page,
      data: [{ ...page.data[0], id: 1 }, ...page.data.slice(1)],
    })),
  ),
  inBody('an incident of another monitor', 'listIncidents 200 open', (page) => ({
    ...page,
    data: page.data.map((incident: object) => ({ ...incident, monitor_id: 1 })),
  })),
  inBody('a wrong duration of an incident', 'listIncidents 200 resolved', (page) => ({
    ...page,
    data: page.data.map((incident: object) => ({ ...incident, duration_seconds: 1 })),
  })),
  inBody('a missing item', 'listNotifications 200 two_providers', (page) => ({ ...page, data: page.data.slice(1) })),

  // The resource in the request and the resource in the response
  inBody('the deletion of another resource', 'deleteMonitor 200 deleted', (body) => ({ ...body, id: body.id + 1 })),
  inBody('deleted is false', 'deleteWebsite 200 deleted', (body) => ({ ...body, deleted: false })),
  conforming(
    inBody('a wrong password that opens the website', 'verifyWebsitePassword 200 does_not_open', () => ({ data: { opens: true } })),
  ),
  inData('a key with another prefix', 'createKey 201 created', { prefix: 'stkp_ZZZZ' }),

  // Statuses
  withStatus('200 instead of 201', 'createSession 201 signed_in', 200),
  conforming(withStatus('201 instead of 200', 'addNotification 200 set', 201)),
  withStatus('a status that is not declared', 'listNotifications 200 none', 206),
  withStatus('403 instead of 404', 'showMonitor 404 not_found', 403),
  withStatus('400 instead of 422', 'createMonitor 422 two_errors', 400),
  {
    title: 'a body in a response without one',
    caseTitle: 'showProvider 304',
    inject(response) {
      response.text = '{}';
      response.body = {};
    },
  },

  // Headers
  withHeader('another media type', 'createKey 201 read_only', 'Content-Type', 'application/json; charset=utf-8'),
  withHeader('a problem as plain JSON', 'listWebsites 401 unauthenticated', 'Content-Type', 'application/json'),
  withHeader('no Location', 'createMonitor 201 ping', 'Location'),
  withHeader('a Location of another resource', 'createWebsite 201 international', 'Location', '/api/v1/websites/1'),
  withHeader('no ETag', 'showProvider 200 slack', 'ETag'),
  withHeader('no ETag on a 304', 'showWebsiteByDomain 304', 'ETag'),
  withHeader('an ETag of another resource', 'showProvider 200 sms', 'ETag', '"provider-1-1-0123456789abcdef"'),
  withHeader('an ETag of another kind', 'showMonitor 304', 'ETag', '"website-1-1-0123456789abcdef"'),
  withHeader('an ETag without a hash', 'showWebsite 304', 'ETag', '"website-1-1"'),
  withHeader('no ETag on the 304 of a list', 'listMonitors 304', 'ETag'),
  withHeader('an ETag of a list that is not a hash', 'listNotifications 304', 'ETag', '"3"'),
  withHeader('a weak ETag', 'updateProvider 200 sms', 'ETag', 'W/"2"'),
  withHeader('an undeclared header', 'listKeys 304', 'X-Powered-By', 'Sitekeeper'),
  withHeader('no request id', 'deleteProvider 200 deleted', 'X-Request-Id'),
  withHeader('no WWW-Authenticate', 'deleteWebsite 401 invalid_key', 'WWW-Authenticate'),
  withHeader('no Retry-After', 'createMonitor 429 rate_limited', 'Retry-After'),
  withHeader('a rate limit that is not a number', 'checkMonitor 202 before_the_check', 'X-RateLimit-Limit', 'many'),
  withHeader('rate limit headers that contradict each other', 'listIncidents 200 none', 'X-RateLimit-Remaining', '7'),
  withHeader('no cookie', 'deleteSession 200 signed_out', 'Set-Cookie'),
  withHeader('no cookie of the new session', 'changePassword 200 changed', 'Set-Cookie'),

  // Problems
  inBody('another code', 'createWebsite 409 domain_taken', (body) => ({ ...body, code: 'quota_exceeded' })),
  inBody('no code', 'listMonitors 403 missing_scope', ({ code, ...body }) => body),
  inBody('another status in the body', 'updateMonitor 412 precondition_failed', (body) => ({ ...body, status: 409 })),
  inBody('another instance', 'deleteMonitor 404 not_found', (body) => ({ ...body, instance: '/api/monitors/1' })),
  inBody('another request id in the body', 'createKey 415 unsupported_media_type', (body) => ({ ...body, request_id: 'another' })),
  inBody('a type of another problem', 'createKey 413 body_too_large', (body) => ({ ...body, type: `${body.type}r` })),
  inBody('a 422 without errors', 'createProvider 422 bad_phone_number', ({ errors, ...body }) => body),
  conforming(
    inBody('another validation error', 'createProvider 422 field_of_other_type', (body) => ({
      ...body,
      errors: [{ ...body.errors[0], pointer: '/token' }],
    })),
  ),
  inBody('a problem in another format', 'createUser 409 email_taken', ({ code, detail }) => ({ error: code, message: detail })),
  inBody('more than 100 validation errors', 'createWebsite 422 bad_line', (body) => ({ ...body, errors: Array(101).fill(body.errors[0]) })),
  inBody('a path that is not cut', 'createMonitor 431 headers_too_large', (body) => ({ ...body, instance: `/${'x'.repeat(2048)}` })),
  inBody('a stack trace', 'testProvider 502 rejected', (body) => ({ ...body, stack: 'Error: at deliver (deliver.ts:1)' })),
];

/** Marks a fault that the schema cannot reveal. */
function conforming(fault: Fault): Fault {
  return { ...fault, conformsToContract: true };
}

type Edit = (body: ApiResponse['body']) => unknown;

function inBody(title: string, caseTitle: string, edit: Edit): Fault {
  return {
    title,
    caseTitle,
    inject(response) {
      response.body = edit(response.body);
      response.text = JSON.stringify(response.body);
    },
  };
}

function inData(title: string, caseTitle: string, fields: object): Fault {
  return inBody(title, caseTitle, ({ data }) => ({ data: { ...data, ...fields } }));
}

function withStatus(title: string, caseTitle: string, status: number): Fault {
  return {
    title,
    caseTitle,
    inject(response) {
      response.status = status;
    },
  };
}

/** Sets the header, or removes it if there is no value. */
function withHeader(title: string, caseTitle: string, name: string, value?: string): Fault {
  return { title, caseTitle, inject: ({ headers }) => (value === undefined ? headers.delete(name) : headers.set(name, value)) };
}
