import type { ProblemCode } from '../errors.ts';

export interface Explanation {
  /** What it means and when it comes. */
  meaning: string;
  /** What to do, the likeliest first. */
  remedies: string[];
}

/** Every code has one: a code without an explanation does not compile. */
export const explanations: Record<ProblemCode, Explanation> = {
  malformed_request: {
    meaning: 'What arrived could not be read as HTTP, or the body ended before the length that its `Content-Length` announced.',
    remedies: [
      'Send the request with an ordinary HTTP library or curl.',
      'Where a proxy stands in between, look at what it passes on; plain HTTP to an https port ends like this, too.',
    ],
  },
  malformed_json: {
    meaning: 'The body says `Content-Type: application/json` and is not valid JSON. The `detail` names the place.',
    remedies: [
      'Let your language write the JSON (`JSON.stringify`, `json.dumps`) instead of putting strings together.',
      'In a shell, put single quotes around the body: double quotes inside double quotes are lost.',
      'Look for a comma after the last entry, single quotes and comments: JSON has none of them.',
    ],
  },
  duplicate_key: {
    meaning:
      'An object of the JSON body has the same key twice. Most parsers keep the last one without a word, so it is not clear which value you mean.',
    remedies: ['Send each key once. The `detail` names the one that stands twice.'],
  },
  malformed_encoding: {
    meaning:
      'The bytes of the body, the form or the query do not fit their encoding: not UTF-8, a broken `%` sequence, or not what `Content-Encoding` or `Content-Length` says.',
    remedies: [
      'Send UTF-8 everywhere.',
      'Let a library encode queries and forms (`URLSearchParams`, `urllib.parse.urlencode`, `curl --data-urlencode`); a bare `%` is written `%25`.',
    ],
  },
  unauthenticated: {
    meaning:
      'The request carries neither an API key nor a session. Some operations work only for a signed-in user and take no key: changing the password is one.',
    remedies: [
      'Send a key in the header `Authorization: Bearer <API_KEY>`.',
      'In a browser on these pages, sign in.',
      'You have no key? The first start of the service prints one, the operator makes more with `key create`, and `POST /api/keys` makes them with a key or a session.',
    ],
  },
  invalid_key: {
    meaning:
      'The `Authorization` header holds no key that works: it is not in the form `Bearer stkp_…`, a character is missing or changed, or the key is unknown, has expired or was deleted. A key that does not work is refused even beside a good session.',
    remedies: [
      'Check that the whole key was copied: `stkp_` and 36 letters and digits, no blanks, no quotes.',
      'Is it a key of this service, and not of another installation?',
      'Make a new key with `POST /api/keys`. Deleting a key also deletes those that it made.',
    ],
  },
  invalid_session: {
    meaning:
      'The session has ended: after 7 days without use, after 30 days in any case, by signing out, or because the password was changed.',
    remedies: ['Sign in again with `POST /api/session`.', 'For programs use an API key: it lasts until it is deleted or expires.'],
  },
  invalid_credentials: {
    meaning: 'There is no account with this e-mail address and this password. Which of the two is wrong is not said.',
    remedies: [
      'Check both. Passwords tell capital letters from small ones.',
      'The owner account has a password only if the operator gave it one: by `OWNER_PASSWORD` before the first start, or later by `npm run sitekeeper -- user password <email>`.',
      'After 5 failures in 15 minutes the account is shut for your address for a while.',
    ],
  },
  missing_scope: {
    meaning: 'The key works, and does not hold the scope that this operation needs. The `detail` names it. Write does not include read.',
    remedies: [
      'Use a key that holds the scope, or make one with `POST /api/keys`.',
      'The scopes that an operation needs stand in the reference as `x-required-scopes`.',
    ],
  },
  cross_origin: {
    meaning:
      'A browser sent a request that changes something, with the session cookie or to sign in, from a page of another site. So that no other site can act in your name, this is refused.',
    remedies: [
      'From a web page of another origin, use an API key instead of the session.',
      'Is it the page of this very service? Then the operator must set `PUBLIC_URL` to the address that browsers see.',
    ],
  },
  scope_not_held: {
    meaning: 'A key tried to make a key with a scope that it does not hold itself. No key hands out more than it has.',
    remedies: [
      'Ask only for scopes that the calling key holds.',
      'Call with a key that holds them, or as a signed-in user, who holds all.',
    ],
  },
  expiry_beyond_own: {
    meaning: 'A key tried to make a key that would live longer than itself.',
    remedies: [
      'Leave `expires_at` out, and the new key ends with the calling one; or name an earlier time.',
      'Call with a key that lives longer, or as a signed-in user.',
    ],
  },
  not_your_key: {
    meaning:
      'A key may delete itself and the keys that it made, directly or through others. The one you named is yours, but this key did not make it.',
    remedies: ['Delete it with the key that made it, or as a signed-in user, who may delete every key of the account.'],
  },
  signup_closed: {
    meaning: 'This service does not let people make accounts by themselves.',
    remedies: [
      'Ask the operator for an account.',
      'Operators: `npm run sitekeeper -- user add <email>` makes one, `SIGNUP=open` opens sign-up to everybody.',
    ],
  },
  not_found: {
    meaning:
      'There is nothing at this path, or no such item. An item of another user answers in the same way, so that nobody can find out what others have.',
    remedies: [
      'Check the path against the reference: the website registry is under `/api/v1`, monitoring under `/api`.',
      'Check the id: list the items to see those that are there. It may have been deleted.',
      'Does the key belong to the user whose item it is?',
    ],
  },
  method_not_allowed: {
    meaning: 'The path exists, and does not take this method. The `Allow` header lists those that it takes.',
    remedies: ['Use one of the methods in `Allow`. Websites are updated by PUT or PATCH, everything else by PUT.'],
  },
  not_acceptable: {
    meaning: 'The `Accept` header rules out `application/json`, and the operation answers nothing else.',
    remedies: ['Send `Accept: application/json` or `*/*`, or leave the header out.'],
  },
  request_timeout: {
    meaning: 'The request did not arrive in time: its headers have 10 seconds, the whole of it 30.',
    remedies: [
      'Repeat it. A POST with an `Idempotency-Key` can be repeated without creating anything twice.',
      'Look at your connection, and at proxies that hold requests back.',
    ],
  },
  domain_taken: {
    meaning:
      'You have a website with this domain already. Domains are compared in their normal form: lower case, without `www.`, a port or a path.',
    remedies: [
      'Find it with `GET /api/v1/domains/{domain}` and update it.',
      'To repeat a request without fear of creating twice, send an `Idempotency-Key`.',
    ],
  },
  quota_exceeded: {
    meaning: 'You have as many keys, websites, monitors or providers as one user may have. The `detail` says which and how many.',
    remedies: [
      'Delete what is no longer needed.',
      'Ask the operator for more: `MAX_WEBSITES`, `MAX_MONITORS` and `MAX_PROVIDERS` set the limits; keys are 100 for everybody.',
    ],
  },
  email_taken: {
    meaning: 'There is an account with this e-mail address already.',
    remedies: ['Sign in with it instead.', 'If you do not know the password, ask the operator for a new one.'],
  },
  already_created: {
    meaning:
      'A request with the same `Idempotency-Key` has already made this key. The plain key is stored nowhere, so it cannot be shown again. The `id` of the problem is that of the key.',
    remedies: [
      'If you have the key from the first answer, use it.',
      'If you do not, delete the key with that id and make another, with a new `Idempotency-Key`.',
    ],
  },
  monitor_paused: {
    meaning: 'You asked for a check of a monitor that is paused.',
    remedies: ['Resume it first: `PUT /api/monitors/{id}` with `{"is_active": true}`. It is then checked by itself.'],
  },
  request_in_progress: {
    meaning: 'A request with the same `Idempotency-Key` is still running. Both may not run at once, or the item could be created twice.',
    remedies: ['Wait a moment and repeat: you then get the answer of the first one.'],
  },
  precondition_failed: {
    meaning: 'The item has changed since you read it: it is no longer the version that `If-Match` names. Nothing was written.',
    remedies: [
      'Read the item again, apply your change to what it is now, and send the new `ETag` in `If-Match`.',
      'Leave `If-Match` out if you want to overwrite whatever is there.',
    ],
  },
  body_too_large: {
    meaning: 'The body has more than 256 KiB.',
    remedies: [
      'Send less in one request. Only lists of excluded addresses and parameters come near that size, and they end at 1,000 lines.',
    ],
  },
  unsupported_media_type: {
    meaning:
      'The `Content-Type` of the body is not the one that the operation takes, its charset is not UTF-8, or its `Content-Encoding` is not supported.',
    remedies: [
      'The website registry takes forms: `Content-Type: application/x-www-form-urlencoded`, which is what `curl -d` sends.',
      'Monitoring takes JSON: `Content-Type: application/json`. With curl add `-H "Content-Type: application/json"`.',
    ],
  },
  validation_failed: {
    meaning:
      'The request was read, and breaks the contract. `errors` lists every fault at once: where it is (`in`, with `pointer` for the body or `name` for a parameter), a stable `code`, a `message`, and the `line` in a list of lines.',
    remedies: [
      'Go through `errors` and mend each one; none is hidden behind another.',
      '`unknown_field` is most often a typing error: nothing that you send is ignored silently, query parameters that are unknown excepted.',
      'The reference says what each field takes.',
    ],
  },
  idempotency_key_reused: {
    meaning:
      'The `Idempotency-Key` was used within the last 24 hours for the same operation with another body. A key stands for one request.',
    remedies: ['Make a new key, such as a random UUID, for each new request; keep it only for repeats of that very request.'],
  },
  rate_limited: {
    meaning:
      'Too many requests in a minute from this key, session, user or address; or too many failed attempts at a password; or too many tests of a provider or checks of a monitor in a row. The `detail` says which.',
    remedies: [
      'Wait for as many seconds as `Retry-After` says, then repeat.',
      'The headers `RateLimit` and `X-RateLimit-Remaining` of every answer say how much is left: slow down before it is used up.',
      'Requests without a key have a tenth of the rate of those with one. Operators set it with `RATE_LIMIT_PER_MINUTE`.',
    ],
  },
  headers_too_large: {
    meaning: 'The headers of the request have more than 16 KiB in all.',
    remedies: ['Send fewer or shorter ones. In a browser it is most often cookies: delete those of this site.'],
  },
  internal_error: {
    meaning: 'Something went wrong on our side. It is in the log of the service under the `request_id` of the problem.',
    remedies: [
      'Repeat the request later; a POST with an `Idempotency-Key`, so that nothing is created twice.',
      'If it stays, tell the operator the `request_id`.',
    ],
  },
  delivery_failed: {
    meaning:
      'The test message was handed to the mail server, Slack, Telegram or the SMS service, and was not accepted. The `detail` holds what the other side said.',
    remedies: [
      'Check the address, the webhook, the bot token and chat id, or the telephone number of the provider.',
      'Telegram: the person must have written to the bot first, or the bot be a member of the group.',
      'If the other side is only out of order for a while, test again later. Alerts are tried again by themselves for 24 hours.',
    ],
  },
  delivery_not_configured: {
    meaning:
      'The operator has not set up this way of delivery, so nothing can be sent by it. The `detail` names the setting that is missing.',
    remedies: [
      'Use a provider of another type. Slack and Telegram need no setting of the operator.',
      'Operators: e-mail needs `SMTP_URL` and `MAIL_FROM`; SMS needs `TWILIO_ACCOUNT_SID`, `TWILIO_AUTH_TOKEN` and `SMS_FROM`.',
    ],
  },
  unavailable: {
    meaning: 'The service is starting, or its database cannot be reached for the moment.',
    remedies: ['Wait for as many seconds as `Retry-After` says, then repeat.', 'Operators: `GET /readyz` says when it is ready again.'],
  },
};
