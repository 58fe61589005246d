import type { ProblemCode } from '../errors.ts';

// The texts are plain text in which `backticks` mark code.

export interface Explanation {
  /** What the problem means and when it occurs. */
  meaning: string;
  /** What to do, the most likely remedy first. */
  remedies: string[];
}

/** The explanation of each problem. The compiler rejects a problem code without an explanation. */
export const explanations: Record<ProblemCode, Explanation> = {
  malformed_request: {
    meaning:
      'The request is not valid HTTP, its `Host` header is missing, or its body ended before its `Content-Length` was reached. The `detail` contains the reason.',
    remedies: [
      'Send the request with a standard HTTP library or with curl.',
      'Percent-encode everything in the URL that is not ASCII. With curl: `curl -G --data-urlencode search=bücher <url>`.',
      'If there is a proxy between you and the service, check what it forwards.',
      'If the `detail` says that this service is not a proxy, your client sent a CONNECT request. Remove the service from its proxy settings.',
    ],
  },
  malformed_json: {
    meaning:
      'The body has `Content-Type: application/json`, but it is not valid JSON. The `detail` contains the message from the JSON parser.',
    remedies: [
      'Use a JSON library (`JSON.stringify`, `json.dumps`) instead of concatenating strings.',
      'In a shell, put single quotes around the body. Inside double quotes, the shell removes the double quotes in the JSON.',
      'Look for a comma after the last entry, single quotes and comments. JSON does not allow them.',
    ],
  },
  duplicate_key: {
    meaning:
      'A JSON object in the body contains the same key more than once. Most parsers silently keep the last value, so it is unclear which value you mean.',
    remedies: ['Send each key once. The `detail` contains the duplicate key.'],
  },
  malformed_encoding: {
    meaning:
      'The body or the query string is not encoded correctly: it is not UTF-8, it contains an invalid `%` sequence, or the body does not match its `Content-Encoding`. The `detail` contains the reason.',
    remedies: [
      'Send UTF-8 everywhere.',
      'Use a library to encode query strings and forms (`URLSearchParams`, `urllib.parse.urlencode`, `curl --data-urlencode`). A literal `%` is written `%25`.',
    ],
  },
  unauthenticated: {
    meaning:
      'The request has neither an API key nor a session. Some operations, such as changing the password, require a session and do not accept API keys. On `/metrics`, the token is missing or wrong.',
    remedies: [
      'Send an API key in the header `Authorization: Bearer <API_KEY>`.',
      'On these pages, sign in at the top.',
      'If the operation requires a session, sign in with `POST /api/session` and send no API key.',
      'If you have no key: the service prints one when it starts for the first time, and the operator can create more with `npm run sitekeeper -- key create`. With a key or a session, you can create keys with `POST /api/keys`.',
    ],
  },
  invalid_key: {
    meaning:
      'The `Authorization` header does not have the form `Bearer stkp_…`, the key has a missing or changed character, or the key is unknown, expired or revoked (deleted). An invalid key is rejected even if the request also has a valid session.',
    remedies: [
      'Check that you copied the whole key: `stkp_` followed by 36 letters and digits, without spaces or quotes.',
      'Check that the key belongs to this service and not to another installation.',
      'Create a new key with `POST /api/keys`. If your key was created with another key, it was deleted when that key was deleted.',
    ],
  },
  invalid_session: {
    meaning:
      'The session is unknown or has expired. A session expires after 7 days without use, and after 30 days in any case. It is deleted when you sign out, and when the password is changed in another session or by the operator.',
    remedies: ['Sign in again with `POST /api/session`.', 'In programs, use an API key instead. It works until it is deleted or expires.'],
  },
  invalid_credentials: {
    meaning:
      'No account has this e-mail address and this password. The response does not reveal which of the two is wrong. After 5 failed attempts in 15 minutes for one account from one client address, further attempts return `rate_limited` with `Retry-After`.',
    remedies: [
      'Check both. Passwords are case-sensitive.',
      'The owner account has a password only if the operator has set one: with `OWNER_PASSWORD` before the service first started, or later with `npm run sitekeeper -- user password <email>`.',
    ],
  },
  missing_scope: {
    meaning:
      'The API key is valid, but it does not have the scope that this operation requires. The `detail` contains the scope. A write scope does not include the read scope.',
    remedies: [
      'Use a key that has the scope, or create one with `POST /api/keys`.',
      'In the API reference, `x-required-scopes` lists the scopes that an operation requires.',
    ],
  },
  cross_origin: {
    meaning:
      'A browser sent a request that changes data from a page of another origin, without an API key: the request used the session cookie, or tried to sign in or sign up. It is rejected so that other sites cannot act on your behalf.',
    remedies: [
      'On a web page of another origin, use an API key instead of the session.',
      'If the page belongs to this service, the operator must set `PUBLIC_URL` to the URL that browsers use.',
    ],
  },
  scope_not_held: {
    meaning: 'A key tried to create a key with a scope that it does not have itself. A key cannot grant more than it has.',
    remedies: ['Request only scopes that the calling key has.', 'Use a key that has the scopes, or sign in: a session has all scopes.'],
  },
  expiry_beyond_own: {
    meaning: 'A key tried to create a key that expires later than itself.',
    remedies: [
      'Leave out `expires_at`, so that the new key expires together with the calling key, or choose an earlier time.',
      'Use a key that expires later, or sign in.',
    ],
  },
  not_your_key: {
    meaning:
      'A key can delete only itself and the keys created with it, directly or through other keys. The key that you want to delete is in your account, but the calling key did not create it.',
    remedies: ['Delete it with the key that created it, or sign in: with a session you can delete every key of the account.'],
  },
  signup_closed: {
    meaning: 'This service does not allow users to create their own accounts.',
    remedies: [
      'Ask the operator for an account.',
      'Operators: create an account with `npm run sitekeeper -- user add <email>`, or set `SIGNUP=open` to let anyone create one.',
    ],
  },
  not_found: {
    meaning:
      'The `detail` says what was not found. `No such endpoint…` means that the path is unknown. `Monitor 17 was not found.` means that the resource does not exist or belongs to another user. The response does not reveal which, so that nobody can find out what other users have. `Provider 3 is not assigned to monitor 5.` means that there is no such assignment to remove.',
    remedies: [
      'Unknown path: check it against the API reference. The website registry is at `/api/v1`, monitoring is at `/api`.',
      'Resource: check the id. List the resources to see which ones exist. It may have been deleted.',
      'Assignment: list the providers of the monitor with `GET /api/monitors/{id}/notifications`.',
      'Check that the API key belongs to the same user as the resource.',
    ],
  },
  method_not_allowed: {
    meaning: 'The path exists, but it does not support this method. The `Allow` header lists the supported methods.',
    remedies: [
      'Use one of the methods in `Allow`. Websites are updated with PUT or PATCH, monitors and providers with PUT. Keys cannot be changed.',
    ],
  },
  not_acceptable: {
    meaning:
      'The `Accept` header excludes `application/json`, the only media type that the operation returns. Heartbeats ignore the header.',
    remedies: ['Send `Accept: application/json` or `*/*`, or leave out the header.'],
  },
  request_timeout: {
    meaning: 'The request did not arrive in time. The whole request, headers and body, must arrive within 6 seconds.',
    remedies: [
      'Retry the request. If it creates a resource, send an `Idempotency-Key`, so that a retry does not create it twice.',
      'Check your connection, and any proxy that delays requests.',
    ],
  },
  domain_taken: {
    meaning:
      'You already have a website with this domain. Domains are compared in normalized form: in lower case, without `www.`, port or path.',
    remedies: [
      'Find the website with `GET /api/v1/domains/{domain}` and update it.',
      'To retry a request safely, send an `Idempotency-Key`: a retry then creates nothing and returns the first response.',
    ],
  },
  quota_exceeded: {
    meaning:
      'You have reached the maximum number of keys, websites, monitors or providers per user, or the API key that you use has reached the maximum of 10 keys created with it. The `detail` says which.',
    remedies: [
      'Delete what you no longer need.',
      'Ask the operator for a higher maximum: `MAX_WEBSITES`, `MAX_MONITORS` and `MAX_PROVIDERS` are settings. The maximum of 100 keys per user, and of 10 keys created with a key, cannot be changed.',
      'To create more keys than an API key allows, sign in and create them with the session.',
    ],
  },
  email_taken: {
    meaning: 'An account with this e-mail address already exists.',
    remedies: ['Sign in to that account instead.', 'If you do not know the password, ask the operator to set a new one.'],
  },
  already_created: {
    meaning:
      'An earlier request with the same `Idempotency-Key` succeeded, but its response was not stored: it contained a secret, or it was larger than 8 KiB. The `id` in the problem is the id of what was created.',
    remedies: [
      'A website can be read with `GET /api/v1/websites/{id}`, a monitor with `GET /api/monitors/{id}`, and a provider with `GET /api/providers/{id}`.',
      'The signing secret of a webhook cannot be shown again. If you do not have it from the first response, get another one with `POST /api/providers/{id}/rotate-secret`.',
      'Of an API key, only a hash is stored, so it cannot be shown again. If you have it from the first response, use it. Otherwise, delete the key with that id and create another one with a new `Idempotency-Key`.',
    ],
  },
  monitor_paused: {
    meaning: 'You requested a check of a monitor that is paused.',
    remedies: ['Resume the monitor with `PUT /api/monitors/{id}` and `{"is_active": true}`. It is then checked automatically.'],
  },
  nothing_to_check: {
    meaning: 'The monitor waits for the heartbeats of a job. There is nothing that the service could check now.',
    remedies: ['Send a heartbeat to the heartbeat_url of the monitor. It is recorded at once.'],
  },
  no_signing_secret: {
    meaning: 'You rotated the signing secret of a provider that has none. Only messages to webhooks are signed.',
    remedies: [
      'Check the id. `GET /api/providers` lists your providers with their types.',
      'To replace the token or the URL of another provider, update the provider.',
    ],
  },
  recipient_unconfirmed: {
    meaning:
      'You tested an e-mail provider whose recipient has not confirmed the address yet. Until then, alerts to it are not sent, and the log of its deliveries shows them as `suppressed`. This request has sent another mail with the link.',
    remedies: [
      'Ask the recipient to open the link in the mail and press the button. Look for the mail in the spam folder too.',
      'Check the address. If you change it, the new one gets a link.',
      'The log of deliveries, `GET /api/providers/{id}/deliveries`, shows whether the mail was sent.',
    ],
  },
  incident_resolved: {
    meaning:
      'You acknowledged an incident that is resolved. The monitor is up again, or its incident was closed for another reason, such as a pause.',
    remedies: [
      'Do nothing: no reminders are sent about a resolved incident.',
      'If the monitor is down again, acknowledge its new incident. `GET /api/incidents?status=open` lists the open ones.',
    ],
  },
  request_in_progress: {
    meaning:
      'Another request with the same `Idempotency-Key` is still in progress. If both ran at the same time, the resource could be created twice.',
    remedies: ['Retry after a few seconds. If the first request succeeded, you get its response. Otherwise, your retry is processed.'],
  },
  precondition_failed: {
    meaning: 'The resource has changed since you read it: it no longer has a version listed in `If-Match`. The request had no effect.',
    remedies: [
      'Read the resource again, apply your change to its current state, and send the new `ETag` in `If-Match`.',
      'Send the `ETag` exactly as it was returned, with its quotation marks.',
      'To overwrite the resource regardless of its version, leave out `If-Match`.',
    ],
  },
  body_too_large: {
    meaning: 'The body is larger than 256 KiB.',
    remedies: [
      'Send less in one request. Only lists of excluded IP addresses or query parameters can become that large, and each list can have at most 1,000 lines.',
    ],
  },
  unsupported_media_type: {
    meaning:
      'The `Content-Type` of the body is not the one that the operation accepts, its charset is not UTF-8, or its `Content-Encoding` is not supported. The `detail` says which.',
    remedies: [
      'The website registry accepts forms: `Content-Type: application/x-www-form-urlencoded`, which is the default for `curl -d`.',
      'Monitoring accepts JSON: `Content-Type: application/json`. With curl, add `-H "Content-Type: application/json"`.',
    ],
  },
  validation_failed: {
    meaning:
      'The request is well-formed, but its content does not follow the API reference. `errors` lists all validation errors. Each entry has a location (`in`, with a `pointer` in the body or the `name` of a parameter or header), a stable `code` and a `message`. Errors in a list of lines also have a `line`.',
    remedies: [
      'Fix every entry in `errors`.',
      '`unknown_field` usually means a typo in a field name. Unknown fields in the body are always rejected. Unknown query parameters are ignored.',
      '`field_of_other_type` means that the field belongs to another type of monitor or provider.',
      '`unknown_mask` and `secrets_needed` mean that a stored secret cannot be kept with this change. Send its full value.',
      'See the API reference for what each field accepts.',
    ],
  },
  idempotency_key_reused: {
    meaning:
      'The `Idempotency-Key` was used for the same method and path with a different request within the last 24 hours. An `Idempotency-Key` identifies one request.',
    remedies: [
      'Generate a new `Idempotency-Key`, such as a random UUID, for each new request. Reuse it only to retry exactly the same request.',
    ],
  },
  rate_limited: {
    meaning:
      'A limit was exceeded: requests per minute for a key, session, user or client address, requests in progress, failed password attempts, tests of a provider, manual checks of a monitor, messages per hour for a provider, SMS per day for a user, mails that ask a recipient to confirm an address, or responses stored for `Idempotency-Key`. The `detail` says which.',
    remedies: [
      'Wait for the number of seconds in `Retry-After`, then retry.',
      'The response headers `RateLimit` and `X-RateLimit-Remaining` show how many requests per minute are left, and nothing about the other limits. Slow down before the number reaches 0.',
      'Send an API key. Requests without a valid key or session are limited per client address, to a tenth of the limit for a key. Operators: set the limit with `RATE_LIMIT_PER_MINUTE`.',
    ],
  },
  headers_too_large: {
    meaning: 'The request headers are larger than 16 KiB in total, or there are more than 200 of them. The `detail` says which.',
    remedies: ['Send fewer or shorter headers. In a browser, the usual cause is cookies: delete the cookies of this site.'],
  },
  internal_error: {
    meaning: 'An unexpected error occurred in the service. The service log contains it with the `request_id` of the problem.',
    remedies: [
      'Retry later. If the request creates a resource, send an `Idempotency-Key`, so that a retry does not create it twice.',
      'If it happens again, report the `request_id` to the operator.',
    ],
  },
  delivery_failed: {
    meaning:
      'The mail server, the chat, PagerDuty, the SMS service or the webhook did not accept the test notification, or was unreachable. The `detail` contains the reason.',
    remedies: [
      'Check the e-mail address, the webhook URL, the bot token and chat id, the routing key, or the phone number of the provider.',
      'Telegram: the recipient must have sent a message to the bot first, or the bot must be a member of the group.',
      'If the failure is temporary, test again later. Alerts that fail temporarily are retried automatically for 24 hours.',
    ],
  },
  delivery_not_configured: {
    meaning: 'The operator has not configured this type of delivery, so nothing can be sent. The `detail` contains the missing setting.',
    remedies: [
      'Use a provider of another type. Only e-mail and SMS require settings from the operator.',
      'Operators: e-mail needs `SMTP_URL` and `MAIL_FROM`; SMS needs `TWILIO_ACCOUNT_SID`, `TWILIO_AUTH_TOKEN` and `SMS_FROM`.',
    ],
  },
  unavailable: {
    meaning:
      'The service cannot process the request at the moment: it is shutting down, its database is unavailable, or too many requests changed the same resource at the same time. The `detail` says which.',
    remedies: [
      'Wait for the number of seconds in `Retry-After`, then retry.',
      'Operators: `GET /readyz` returns 200 when the service is ready again.',
    ],
  },
};
