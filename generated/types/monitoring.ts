// Made by npm run generate from openapi/monitoring. Do not edit.

export interface paths {
    "/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List keys
         * @description Every key of yours, newest first, whichever key or session made it. The keys themselves are never shown again; tell them apart by `name` and `prefix`.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Create a key
         * @description Makes an API key. The answer shows it this once; only a hash is stored. Called with a key, the new one can hold only scopes that the calling key holds and can end no later than it. Called with a session, it can hold any scope. A repeated request with the same `Idempotency-Key` makes no second key, but it cannot show the first one again and answers 409 with its id.
         */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the key, as returned by the list and by its creation.
                 * @example 12
                 */
                id: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a key
         * @description Deletes the key and every key that was made with it, directly or through others; they stop working at once. Called with a key, only that key itself and those it made can be deleted. Called with a session, any key of yours can.
         */
        delete: operations["deleteKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List monitors
         * @description Your monitors, page by page, newest first, with how each of them stands.
         */
        get: operations["listMonitors"];
        put?: never;
        /**
         * Create a monitor
         * @description Adds a monitor. It is `pending` until its first check, which follows shortly, unless it is created paused. Nobody is told about it until a provider is assigned with `POST /monitors/{id}/notifications`. Send an `Idempotency-Key` to be able to repeat the request safely.
         */
        post: operations["createMonitor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * Show a monitor
         * @description One monitor with its settings and how it stands. Send the `ETag` you have as `If-None-Match` to get 304 while nothing changed. The `ETag` has two versions, of the settings and of the state: `If-None-Match` compares both, so a new check is always seen; `If-Match` compares only the settings.
         */
        get: operations["showMonitor"];
        /**
         * Update a monitor
         * @description Changes the settings that are sent and leaves the others as they are; an empty object changes nothing. A new `url` or `type` makes the monitor `pending` until it is checked again. That, and pausing it, resolves an open incident without an alert. Send the `ETag` you have as `If-Match` so that nobody else's change is overwritten unseen: only the settings are compared, so a check in between does not refuse the edit.
         */
        put: operations["updateMonitor"];
        post?: never;
        /**
         * Delete a monitor
         * @description Deletes the monitor and the assignments of its providers; the providers stay. Its incidents can no longer be read, and an open one sends no further alert. This cannot be undone. To stop the checks but keep the history, pause it instead.
         */
        delete: operations["deleteMonitor"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/check": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a monitor now
         * @description Has the monitor checked at once, without waiting for its next turn. The answer comes before the check and shows the monitor as it stands. When the check is done, `last_checked_at` and the `ETag` change: ask `GET /monitors/{id}` with this answer's `ETag` as `If-None-Match` until it is no longer 304. Once in 10 seconds per monitor; then 429. There is no body to send.
         */
        post: operations["checkMonitor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * List the incidents of a monitor
         * @description The incidents of the monitor that overlap the window, newest first: those that began before it and lasted into it, and one that is still open, are in it. Incidents are kept for at least 13 months.
         */
        get: operations["listIncidents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * List the providers of a monitor
         * @description The providers that are assigned to the monitor, enabled or not, the latest assignment first.
         */
        get: operations["listNotifications"];
        put?: never;
        /**
         * Assign a provider to a monitor
         * @description Assigns one of your providers to the monitor. If it is assigned already, `enabled` is set to what is sent (absent: true) and the answer is 200 instead of 201; this is also how an assignment is switched off and on. 404 if there is no such monitor or no such provider.
         */
        post: operations["addNotification"];
        /**
         * Take a provider off a monitor
         * @description Removes the assignment; the provider itself stays. Name the provider in the JSON body or, because some proxies drop the body of a DELETE, as `?provider_id=`. Neither, or both and different, is 422. 404 if there is no such monitor or the provider is not assigned to it.
         */
        delete: operations["removeNotification"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List providers
         * @description Your providers, newest first. Tokens and webhook addresses come masked.
         */
        get: operations["listProviders"];
        put?: never;
        /**
         * Create a provider
         * @description Adds a provider of one type with the fields of that type. Nothing is sent yet: try it with `POST /providers/{id}/test`, then assign it to monitors. Send an `Idempotency-Key` to be able to repeat the request safely.
         */
        post: operations["createProvider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/providers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the provider, as returned by the list and by its creation.
                 * @example 3
                 */
                id: components["parameters"]["ProviderId"];
            };
            cookie?: never;
        };
        /**
         * Show a provider
         * @description One provider. Tokens and webhook addresses come masked. Send the `ETag` you have as `If-None-Match` to get 304 while nothing changed.
         */
        get: operations["showProvider"];
        /**
         * Update a provider
         * @description Changes the fields that are sent and leaves the others as they are; an empty object changes nothing. Only fields of the provider's own type are taken, and `provider_type` itself cannot be changed. A masked value sent back unchanged keeps what is stored, so a record can be read, edited and sent back. Send the `ETag` you have as `If-Match` so that nobody else's change is overwritten unseen.
         */
        put: operations["updateProvider"];
        post?: never;
        /**
         * Delete a provider
         * @description Deletes the provider and takes it off every monitor it is assigned to; the monitors stay. This cannot be undone.
         */
        delete: operations["deleteProvider"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/providers/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the provider, as returned by the list and by its creation.
                 * @example 3
                 */
                id: components["parameters"]["ProviderId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test notification
         * @description Sends a test message through the provider and answers when the other side has taken or refused it. 200 means that it was taken. By e-mail, Slack and Telegram the text starts with "🔔 Test notification", by SMS with "Test notification". 5 a minute per provider and 20 an hour per user; then 429. There is no body to send.
         */
        post: operations["testProvider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the session
         * @description Who is signed in with this cookie, and until when. An API key does not serve here.
         */
        get: operations["showSession"];
        put?: never;
        /**
         * Sign in
         * @description Starts a session and sets its cookie, which then serves instead of a key and carries every scope. The cookie is `HttpOnly` and `SameSite=Lax`, and over https also `Secure`. After 5 failures in 15 minutes per account and address, or 50 an hour per account, the answer is 429. From a browser it works only on the service's own origin.
         */
        post: operations["createSession"];
        /**
         * Sign out
         * @description Ends the session of this cookie and clears the cookie. Other sessions of yours go on.
         */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change the password
         * @description Sets a new password for the signed-in user and ends all other sessions of that user; this one goes on. API keys keep working.
         */
        put: operations["changePassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign up
         * @description Creates a user account, where the operator allows it; by default it is not allowed. No cookie is set: sign in afterwards with `POST /session`. From a browser it works only on the service's own origin.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An API key, without the key itself. */
        Key: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /** @description The label of the key. */
            name: string;
            /** @description What the key may do. `websites:read` and `websites:write` are an extension for the website registry. */
            scopes: ("monitors:read" | "monitors:write" | "providers:read" | "providers:write" | "websites:read" | "websites:write")[];
            /** @description How the key begins, so that you can tell which one it is. */
            prefix: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last used; null where it never was.
             */
            last_used_at: string | null;
            /**
             * Format: date-time
             * @description When it stops working; null where it does not end.
             */
            expires_at: string | null;
        };
        /** @description The neighbouring pages as paths relative to the origin, with your other parameters kept. `null` where there is no such page. */
        Links: {
            /** Format: uri-reference */
            first: string | null;
            /** Format: uri-reference */
            last: string | null;
            /** Format: uri-reference */
            prev: string | null;
            /** Format: uri-reference */
            next: string | null;
        };
        /** @description Where this page stands in the whole list. An empty list has one page. */
        PageMeta: {
            /**
             * Format: int32
             * @description This page, counted from 1.
             */
            page: number;
            /**
             * Format: int32
             * @description Items on a full page.
             */
            pageSize: number;
            /**
             * Format: int32
             * @description Pages in all.
             */
            pageCount: number;
            /**
             * Format: int32
             * @description Items that match.
             */
            total: number;
        };
        /** @description One page of the list of keys. */
        KeyPage: {
            data: components["schemas"]["Key"][];
            links: components["schemas"]["Links"];
            meta: components["schemas"]["PageMeta"];
        };
        /** @description One thing that is wrong with a request. */
        Fault: {
            /**
             * @description The part of the request.
             * @enum {string}
             */
            in: "body" | "query" | "path" | "header";
            /** @description Where in the body: a JSON Pointer (RFC 6901), for forms too. Absent outside bodies. */
            pointer?: string;
            /** @description The name of the parameter. Absent in bodies. */
            name?: string;
            /** @description The rule that was broken, for programs. */
            code: string;
            /** @description What is expected, for people. */
            message: string;
            /**
             * Format: int32
             * @description In a list with one entry a line: the line.
             */
            line?: number;
        };
        /** @description An error after RFC 9457. `code` is stable and meant for programs, `detail` for people. `type` is the address of a page that explains the error and says what to do. */
        Problem: {
            /**
             * Format: uri
             * @description A page of this service that explains the error.
             */
            type: string;
            /** @description The kind of error in a few words; the same for every occurrence. */
            title: string;
            /**
             * Format: int32
             * @description The HTTP status again.
             */
            status: number;
            /** @description What went wrong this time. */
            detail: string;
            /**
             * Format: uri-reference
             * @description The path that was asked for.
             */
            instance: string;
            /** @description The kind of error for programs. Stable; new ones may be added. */
            code: string;
            /** @description The value of `X-Request-Id`. */
            request_id: string;
            /**
             * Format: int64
             * @description With the code `already_created`: the id of what was created.
             */
            id?: number;
            /** @description With status 422, every fault that was found. */
            errors?: components["schemas"]["Fault"][];
        };
        /** @description A new API key. */
        KeyCreate: {
            /** @description A label that tells you where the key is used; no control characters. */
            name: string;
            /** @description What the key may do: at least one, none twice. Write does not include read. `websites:read` and `websites:write` are an extension for the website registry. */
            scopes: ("monitors:read" | "monitors:write" | "providers:read" | "providers:write" | "websites:read" | "websites:write")[];
            /**
             * Format: date-time
             * @description When the key is to stop working; must be in the future. Absent, it does not end, or, if a key makes it that ends, it ends with that one.
             */
            expires_at?: string;
        };
        /** @description A new API key, with the key itself. */
        CreatedKey: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /** @description The label of the key. */
            name: string;
            /** @description What the key may do. `websites:read` and `websites:write` are an extension for the website registry. */
            scopes: ("monitors:read" | "monitors:write" | "providers:read" | "providers:write" | "websites:read" | "websites:write")[];
            /** @description How the key begins, so that you can tell which one it is. */
            prefix: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last used; null where it never was.
             */
            last_used_at: string | null;
            /**
             * Format: date-time
             * @description When it stops working; null where it does not end.
             */
            expires_at: string | null;
            /** @description The key for the `Authorization` header. Keep it now: it is shown only this once, and only a hash of it is stored. */
            key: string;
        };
        /** @description The new key. */
        CreatedKeyItem: {
            data: components["schemas"]["CreatedKey"];
        };
        /** @description Which key was deleted. */
        KeyDeleted: {
            /** Format: int64 */
            id: number;
            /** @enum {string} */
            object: "key";
            /** @enum {boolean} */
            deleted: true;
        };
        /** @description A monitor, its settings and how it stands. */
        Monitor: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /** @description The display name. */
            friendly_name: string;
            /** @description What is checked. */
            url: string;
            /**
             * @description How it is checked: by an http(s) request or by a ping.
             * @enum {string}
             */
            type: "http" | "ping";
            /**
             * Format: int32
             * @description Seconds from one check to the next.
             */
            interval: number;
            /** @description Whether it is checked; false means paused. */
            is_active: boolean;
            /**
             * @description `pending` until the first check, and again after `url` or `type` changed or the monitor was resumed; `up` or `down` after a check; `paused` while `is_active` is false.
             * @enum {string}
             */
            status: "pending" | "up" | "down" | "paused";
            /**
             * Format: date-time
             * @description When it was last checked; null where it never was.
             */
            last_checked_at: string | null;
            /**
             * Format: int32
             * @description How long the last check took, in milliseconds; null where nothing answered.
             */
            last_response_time_ms: number | null;
            /** @description What was wrong at the last check, for people; null where nothing was. */
            last_error: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When its settings last changed. Checks do not count.
             */
            updated_at: string;
        };
        /** @description One page of the list of monitors. */
        MonitorPage: {
            data: components["schemas"]["Monitor"][];
            links: components["schemas"]["Links"];
            meta: components["schemas"]["PageMeta"];
        };
        /** @description A new monitor. */
        MonitorCreate: {
            /** @description A display name; no control characters. */
            friendly_name: string;
            /** @description What to check. Type http: an http or https URL without a user name or password in it. Type ping: a host name, an IP address, or a URL whose host is pinged. An IP address that may not be checked, such as a private one, is refused with 422; a name that leads to one is taken, and the monitor goes down. */
            url: string;
            /**
             * @description How to check: by an http(s) request or by a ping.
             * @default http
             * @enum {string}
             */
            type: "http" | "ping";
            /**
             * Format: int32
             * @description Seconds from one check to the next.
             * @default 60
             */
            interval: number;
            /**
             * @description Whether to check it; false creates it paused.
             * @default true
             */
            is_active: boolean;
        };
        /** @description One monitor. */
        MonitorItem: {
            data: components["schemas"]["Monitor"];
        };
        /** @description The settings to change. Fields that are absent stay as they are. */
        MonitorUpdate: {
            /** @description A display name; no control characters. */
            friendly_name?: string;
            /** @description What to check. Type http: an http or https URL without a user name or password in it. Type ping: a host name, an IP address, or a URL whose host is pinged. It must suit the type that is sent or, without one, stored. */
            url?: string;
            /**
             * @description How to check: by an http(s) request or by a ping.
             * @enum {string}
             */
            type?: "http" | "ping";
            /**
             * Format: int32
             * @description Seconds from one check to the next.
             */
            interval?: number;
            /** @description False pauses the monitor, true resumes it. */
            is_active?: boolean;
        };
        /** @description Which monitor was deleted. */
        MonitorDeleted: {
            /** Format: int64 */
            id: number;
            /** @enum {string} */
            object: "monitor";
            /** @enum {boolean} */
            deleted: true;
        };
        /** @description A time in which a monitor was down. */
        Incident: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /**
             * Format: int64
             * @description The monitor that was down.
             */
            monitor_id: number;
            /**
             * @description `open` while it lasts. A monitor has at most one open incident.
             * @enum {string}
             */
            status: "open" | "resolved";
            /**
             * Format: date-time
             * @description When the first check failed, not when that was confirmed.
             */
            started_at: string;
            /**
             * Format: date-time
             * @description When it ended; null while it is open.
             */
            resolved_at: string | null;
            /**
             * Format: int32
             * @description How long it lasted, in whole seconds; null while it is open.
             */
            duration_seconds: number | null;
            /** @description What the first failing check found, in words: for instance `HTTP 503`, `connection refused` or `timed out after 10 s`. `address_not_allowed` means that the name leads to an address that may not be checked. */
            cause: string;
            /**
             * Format: int32
             * @description The HTTP status that the first failing check got; null where there was none.
             */
            status_code: number | null;
        };
        /** @description One page of the incidents of a monitor. */
        IncidentPage: {
            data: components["schemas"]["Incident"][];
            links: components["schemas"]["Links"];
            meta: components["schemas"]["PageMeta"];
        };
        /** @description A provider that is assigned to a monitor. */
        Notification: {
            /**
             * Format: int64
             * @description The monitor.
             */
            monitor_id: number;
            /**
             * Format: int64
             * @description The provider.
             */
            provider_id: number;
            /** @description Whether the provider hears about the monitor. */
            enabled: boolean;
            /**
             * Format: date-time
             * @description When it was first assigned.
             */
            created_at: string;
        };
        /** @description One page of the assignments of a monitor. */
        NotificationPage: {
            data: components["schemas"]["Notification"][];
            links: components["schemas"]["Links"];
            meta: components["schemas"]["PageMeta"];
        };
        /** @description A provider to assign. */
        NotificationCreate: {
            /**
             * Format: int64
             * @description One of your providers.
             */
            provider_id: number;
            /**
             * @description Whether the provider is to hear about the monitor; false keeps it assigned but silent.
             * @default true
             */
            enabled: boolean;
        };
        /** @description One assignment. */
        NotificationItem: {
            data: components["schemas"]["Notification"];
        };
        /** @description The provider to take off. */
        NotificationRemove: {
            /**
             * Format: int64
             * @description The assigned provider.
             */
            provider_id: number;
        };
        /** @description Which assignment was removed. */
        NotificationRemoved: {
            /** Format: int64 */
            monitor_id: number;
            /** Format: int64 */
            provider_id: number;
            /** @enum {string} */
            object: "notification";
            /** @enum {boolean} */
            deleted: true;
        };
        /** @description A provider that sends e-mail. */
        EmailProvider: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /**
             * @description E-mail. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "email";
            /**
             * Format: email
             * @description Who gets the messages.
             */
            recipient_email: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /** @description A provider that posts to a Slack webhook. */
        SlackProvider: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /**
             * @description Slack. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "slack";
            /** @description The address of the webhook, masked: `****` and its last 4 characters. */
            webhook_url: string;
            /** @description The channel; null means the webhook's own. */
            channel: string | null;
            /** @description The name of the sender; null means the webhook's own. */
            username: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /** @description A provider that writes to a Telegram chat through a bot. */
        TelegramProvider: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /**
             * @description Telegram. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "telegram";
            /** @description The chat: a number or a channel name. Always a string here, even if it was sent as an integer. */
            chat_id: string;
            /** @description The token of the bot, masked: `****` and its last 4 characters. */
            token: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /** @description A provider that sends text messages to a telephone. */
        SmsProvider: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /**
             * @description SMS. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "sms";
            /** @description The number in E.164 form. */
            phone_number: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /** @description A provider, with the fields of its type. */
        Provider: components["schemas"]["EmailProvider"] | components["schemas"]["SlackProvider"] | components["schemas"]["TelegramProvider"] | components["schemas"]["SmsProvider"];
        /** @description One page of the list of providers. */
        ProviderPage: {
            data: components["schemas"]["Provider"][];
            links: components["schemas"]["Links"];
            meta: components["schemas"]["PageMeta"];
        };
        /** @description A new provider that sends e-mail. */
        EmailProviderCreate: {
            /**
             * @description E-mail. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "email";
            /**
             * Format: email
             * @description Who is to get the messages.
             */
            recipient_email: string;
        };
        /** @description A new provider that posts to a Slack webhook. */
        SlackProviderCreate: {
            /**
             * @description Slack. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "slack";
            /**
             * Format: uri
             * @description The address of the incoming webhook. Its scheme and host are judged at once and a wrong one is 422; whether the path is right shows with the first message, so send a test. Stored encrypted.
             */
            webhook_url: string;
            /** @description The channel to post to. Absent, the webhook's own. */
            channel?: string;
            /** @description The name of the sender. Absent, the webhook's own. */
            username?: string;
        };
        /** @description The Telegram chat: its number (negative for groups), as a string or an integer, or the name of a public channel with `@` before it. It comes back as a string. */
        ChatId: string | number;
        /** @description A new provider that writes to a Telegram chat through a bot. */
        TelegramProviderCreate: {
            /**
             * @description Telegram. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "telegram";
            chat_id: components["schemas"]["ChatId"];
            /** @description The token of the bot: digits, a colon, and 30 to 64 letters, digits, `_` and `-`. Stored encrypted. */
            token: string;
        };
        /** @description A new provider that sends text messages to a telephone. */
        SmsProviderCreate: {
            /**
             * @description SMS. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            provider_type: "sms";
            /** @description The number in E.164 form: `+`, country code and number, digits only. */
            phone_number: string;
        };
        /** @description A new provider, with the fields of its type and no others. */
        ProviderCreate: components["schemas"]["EmailProviderCreate"] | components["schemas"]["SlackProviderCreate"] | components["schemas"]["TelegramProviderCreate"] | components["schemas"]["SmsProviderCreate"];
        /** @description One provider. */
        ProviderItem: {
            data: components["schemas"]["Provider"];
        };
        /** @description The fields to change. Fields that are absent stay as they are, and only those of the provider's own type are taken; one of another type is 422. `provider_type` cannot be changed. A masked value that is sent back unchanged keeps what is stored. */
        ProviderUpdate: {
            /**
             * Format: email
             * @description Only for email: who is to get the messages.
             */
            recipient_email?: string;
            /** @description Only for slack: the address of the incoming webhook, or the mask as it was returned, which keeps the stored one. */
            webhook_url?: string;
            /** @description Only for slack: the channel to post to. `null` removes it, and the webhook's own is used. */
            channel?: string | null;
            /** @description Only for slack: the name of the sender. `null` removes it, and the webhook's own is used. */
            username?: string | null;
            /** @description Only for telegram: the chat, as its number (a string or an integer) or the name of a public channel with `@` before it. */
            chat_id?: string | number;
            /** @description Only for telegram: the token of the bot, or the mask as it was returned, which keeps the stored one. */
            token?: string;
            /** @description Only for sms: the number in E.164 form. */
            phone_number?: string;
        };
        /** @description Which provider was deleted. */
        ProviderDeleted: {
            /** Format: int64 */
            id: number;
            /** @enum {string} */
            object: "provider";
            /** @enum {boolean} */
            deleted: true;
        };
        /** @description What became of the test. */
        TestResult: {
            /** @description What happened, for people. */
            message: string;
        };
        /** @description A session of a signed-in user. */
        Session: {
            /** @description Who is signed in. */
            user: {
                /**
                 * Format: int64
                 * @description The id of the user.
                 */
                id: number;
                /**
                 * Format: email
                 * @description The e-mail address of the user.
                 */
                email: string;
            };
            /**
             * Format: date-time
             * @description When the user signed in.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ends if it is not used again; with use this moves on, up to 30 days after `created_at`.
             */
            expires_at: string;
        };
        /** @description The session. */
        SessionItem: {
            data: components["schemas"]["Session"];
        };
        /** @description Who signs in. */
        SessionCreate: {
            /**
             * Format: email
             * @description The e-mail address of the account.
             */
            email: string;
            /**
             * Format: password
             * @description The password of the account.
             */
            password: string;
        };
        /** @description The session has ended. */
        SessionDeleted: {
            /** @enum {string} */
            object: "session";
            /** @enum {boolean} */
            deleted: true;
        };
        /** @description The password as it is and as it is to be. */
        PasswordChange: {
            /**
             * Format: password
             * @description The password as it is.
             */
            current: string;
            /**
             * Format: password
             * @description The new password, 8 to 128 characters. Stored hashed.
             */
            new: string;
        };
        /** @description A new user account. */
        UserCreate: {
            /**
             * Format: email
             * @description An e-mail address, which is also the name for signing in.
             */
            email: string;
            /**
             * Format: password
             * @description 8 to 128 characters. Stored hashed.
             */
            password: string;
        };
        /** @description A user account. */
        User: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /**
             * Format: email
             * @description The e-mail address, which is also the name for signing in.
             */
            email: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /** @description One user account. */
        UserItem: {
            data: components["schemas"]["User"];
        };
    };
    responses: {
        /** @description The query string could not be read, because its percent-encoding is not valid UTF-8. */
        MalformedQuery: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No key and no session, or one that is malformed, unknown, expired or revoked. */
        Unauthenticated: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The `Accept` header rules out `application/json`, which is what the operation answers on success. */
        NotAcceptable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request was read, but breaks the contract. `errors` names every fault. Nothing was changed. */
        InvalidInput: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests. `Retry-After` says how many seconds to wait. */
        RateLimited: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A fault of ours. `request_id` leads us to it. */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The database cannot be reached for the moment. `Retry-After` says when to try again. */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body could not be read as JSON, has a key twice in one object, or is not valid UTF-8. */
        MalformedJson: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is larger than 256 KiB. */
        BodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is of a media type, or has a `Content-Encoding`, that the operation does not take. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request was read, but breaks the contract. `errors` names every fault. Nothing was changed. The same `Idempotency-Key` with another body is answered with 422 as well. */
        InvalidCreation: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no such item, or it belongs to another user; the two answers do not differ. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key lacks the scope that the operation needs. */
        MissingScope: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key lacks the scope that the operation needs, or a request with a session cookie comes from another origin. */
        ForbiddenChange: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The item is no longer the version that `If-Match` names. Nothing was changed. */
        PreconditionFailed: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A request with the same `Idempotency-Key` is still running. */
        RequestInProgress: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No session, or one that has ended. An API key does not serve here. */
        SessionRequired: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The e-mail address and the password do not belong together. */
        InvalidCredentials: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request comes from a page of another origin. */
        CrossOrigin: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /**
         * @description The page to return, counted from 1. A page past the end is empty, not an error.
         * @example 1
         */
        PageExtension: number;
        /**
         * @description Items on a page.
         * @example 100
         */
        PageSize100: number;
        /**
         * @description A value of your own, such as a UUID, that makes this request safe to repeat: for 24 hours the same key with the same body gets the first answer again and creates nothing. The same key with another body is 422; while the first request still runs, 409. At most 255 characters; quotation marks around them are not part of the value. Keys are told apart per user and operation.
         * @example 5f0c7f3e-5a0b-4c5e-9d3e-1a2b3c4d5e6f
         */
        "Idempotency-Key": string;
        /**
         * @description The id of the key, as returned by the list and by its creation.
         * @example 12
         */
        KeyId: number;
        /**
         * @description The page to return, counted from 1. A page past the end is empty, not an error.
         * @example 1
         */
        Page: number;
        /**
         * @description The id of the monitor, as returned by the list and by its creation.
         * @example 5
         */
        MonitorId: number;
        /**
         * @description Answer 304 without a body if settings and state are still those of this `ETag` (or one of several, separated by commas). `*` means any version.
         * @example "3.140"
         */
        MonitorIfNoneMatch: string;
        /**
         * @description Write only if the settings are still those of this `ETag` (or one of several, separated by commas); otherwise 412 and nothing changes. Only the part before the dot counts, so a check in between does not refuse the write. `*` means any version. Without the header the write is done on whatever is there.
         * @example "3.141"
         */
        MonitorIfMatch: string;
        /**
         * @description The id of the provider, as returned by the list and by its creation.
         * @example 3
         */
        ProviderId: number;
        /**
         * @description Answer 304 without a body if the item is still the version of this `ETag` (or one of several, separated by commas). `*` means any version.
         * @example "2"
         */
        "If-None-Match": string;
        /**
         * @description Write only if the item is still the version of this `ETag` (or one of several, separated by commas); otherwise 412 and nothing changes. `*` means any version. Without the header the write is done on whatever is there.
         * @example "3"
         */
        "If-Match": string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description Identifies this request in our log. Your own value is kept when you send one of 1 to 128 letters, digits and `._-`; otherwise one is made.
         * @example 01J9ZK3V7Q8W
         */
        "X-Request-Id": string;
        /**
         * @description The limits that apply to you, after the IETF draft "RateLimit header fields for HTTP": a name, `q` requests in a window of `w` seconds.
         * @example "key";q=600;w=60, "user";q=1200;w=60
         */
        "RateLimit-Policy": string;
        /**
         * @description The limit you are closest to: `r` requests remain, and the window ends in `t` seconds.
         * @example "key";r=599;t=58
         */
        RateLimit: string;
        /**
         * @description Requests allowed in a window of the limit you are closest to.
         * @example 600
         */
        "X-RateLimit-Limit": number;
        /**
         * @description Requests that remain in this window.
         * @example 599
         */
        "X-RateLimit-Remaining": number;
        /**
         * @description Seconds until the window ends.
         * @example 58
         */
        "X-RateLimit-Reset": number;
        /**
         * @description The scheme that would be accepted.
         * @example Bearer
         */
        "WWW-Authenticate": string;
        /**
         * @description Seconds to wait before trying again.
         * @example 42
         */
        "Retry-After": number;
        /**
         * @description Where the new monitor can be read, relative to the origin.
         * @example /api/monitors/5
         */
        MonitorLocation: string;
        /**
         * @description The version of the monitor: of its settings and, after the dot, of its state, which every check moves on. Send it back as `If-None-Match` to read only what changed, or as `If-Match` to write only what you have seen.
         * @example "3.141"
         */
        MonitorETag: string;
        /**
         * @description Where the new provider can be read, relative to the origin.
         * @example /api/providers/3
         */
        ProviderLocation: string;
        /**
         * @description The version of the item. Send it back as `If-None-Match` to read only what changed, or as `If-Match` to write only what you have seen.
         * @example "3"
         */
        ETag: string;
        /**
         * @description The session cookie, set or cleared.
         * @example sitekeeper_session=q0Xy1n7rT5bK2mVd8cWf3hZp6sLg9aJu; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax
         */
        "Set-Cookie": string;
        /**
         * @description The session cookie, cleared.
         * @example sitekeeper_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax
         */
        ClearedCookie: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listKeys: {
        parameters: {
            query: {
                /**
                 * @description The page to return, counted from 1. A page past the end is empty, not an error.
                 * @example 1
                 */
                page: components["parameters"]["PageExtension"];
                /**
                 * @description Items on a page.
                 * @example 100
                 */
                pageSize: components["parameters"]["PageSize100"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of your keys. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyPage"];
                };
            };
            400: components["responses"]["MalformedQuery"];
            401: components["responses"]["Unauthenticated"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A value of your own, such as a UUID, that makes this request safe to repeat: for 24 hours the same key with the same body gets the first answer again and creates nothing. The same key with another body is 422; while the first request still runs, 409. At most 255 characters; quotation marks around them are not part of the value. Keys are told apart per user and operation.
                 * @example 5f0c7f3e-5a0b-4c5e-9d3e-1a2b3c4d5e6f
                 */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyCreate"];
            };
        };
        responses: {
            /** @description The new key, shown this once. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedKeyItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthenticated"];
            /** @description The new key would hold a scope that the calling key does not hold, or end later than it, or a request with a session cookie comes from another origin. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            406: components["responses"]["NotAcceptable"];
            /** @description Your quota of keys is used up, or a request with the same `Idempotency-Key` has made its key already or still runs. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["InvalidCreation"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the key, as returned by the list and by its creation.
                 * @example 12
                 */
                id: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is gone, and so are those made with it. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyDeleted"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description The key is neither the calling key nor made with it, or a request with a session cookie comes from another origin. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMonitors: {
        parameters: {
            query: {
                /**
                 * @description Only monitors that are up, or only those that are down. Absent, those that are pending or paused come too.
                 * @example up
                 */
                status?: "up" | "down";
                /**
                 * @description Only monitors that are checked this way.
                 * @example http
                 */
                type?: "http" | "ping";
                /**
                 * @description The page to return, counted from 1. A page past the end is empty, not an error.
                 * @example 1
                 */
                page: components["parameters"]["Page"];
                /**
                 * @description Monitors on a page.
                 * @example 20
                 */
                pageSize: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of your monitors. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorPage"];
                };
            };
            400: components["responses"]["MalformedQuery"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["MissingScope"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createMonitor: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A value of your own, such as a UUID, that makes this request safe to repeat: for 24 hours the same key with the same body gets the first answer again and creates nothing. The same key with another body is 422; while the first request still runs, 409. At most 255 characters; quotation marks around them are not part of the value. Keys are told apart per user and operation.
                 * @example 5f0c7f3e-5a0b-4c5e-9d3e-1a2b3c4d5e6f
                 */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorCreate"];
            };
        };
        responses: {
            /** @description The new monitor. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Location: components["headers"]["MonitorLocation"];
                    ETag: components["headers"]["MonitorETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            406: components["responses"]["NotAcceptable"];
            /** @description Your quota of monitors is used up, or a request with the same `Idempotency-Key` still runs. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The request was read, but breaks the contract. `errors` names every fault. Nothing was changed. The same `Idempotency-Key` with another body is answered with 422 as well. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    showMonitor: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Answer 304 without a body if settings and state are still those of this `ETag` (or one of several, separated by commas). `*` means any version.
                 * @example "3.140"
                 */
                "If-None-Match"?: components["parameters"]["MonitorIfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The monitor. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["MonitorETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorItem"];
                };
            };
            /** @description The monitor is still the version that `If-None-Match` names. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["MonitorETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["MissingScope"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateMonitor: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Write only if the settings are still those of this `ETag` (or one of several, separated by commas); otherwise 412 and nothing changes. Only the part before the dot counts, so a check in between does not refuse the write. `*` means any version. Without the header the write is done on whatever is there.
                 * @example "3.141"
                 */
                "If-Match"?: components["parameters"]["MonitorIfMatch"];
            };
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorUpdate"];
            };
        };
        responses: {
            /** @description The monitor after the change. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["MonitorETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteMonitor: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Write only if the settings are still those of this `ETag` (or one of several, separated by commas); otherwise 412 and nothing changes. Only the part before the dot counts, so a check in between does not refuse the write. `*` means any version. Without the header the write is done on whatever is there.
                 * @example "3.141"
                 */
                "If-Match"?: components["parameters"]["MonitorIfMatch"];
            };
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The monitor is gone. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorDeleted"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The check is on its way. The monitor as it stands before it. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["MonitorETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorItem"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            /** @description The monitor is paused. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listIncidents: {
        parameters: {
            query: {
                /**
                 * @description How far to look back from now: 24 hours, 30 days, 6 calendar months or 1 calendar year.
                 * @example 30d
                 */
                window: "24h" | "30d" | "6mo" | "1y";
                /**
                 * @description The page to return, counted from 1. A page past the end is empty, not an error.
                 * @example 1
                 */
                page: components["parameters"]["PageExtension"];
                /**
                 * @description Items on a page.
                 * @example 100
                 */
                pageSize: components["parameters"]["PageSize100"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the incidents in the window. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentPage"];
                };
            };
            400: components["responses"]["MalformedQuery"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["MissingScope"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listNotifications: {
        parameters: {
            query: {
                /**
                 * @description The page to return, counted from 1. A page past the end is empty, not an error.
                 * @example 1
                 */
                page: components["parameters"]["PageExtension"];
                /**
                 * @description Items on a page.
                 * @example 100
                 */
                pageSize: components["parameters"]["PageSize100"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the assignments. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationPage"];
                };
            };
            400: components["responses"]["MalformedQuery"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["MissingScope"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    addNotification: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A value of your own, such as a UUID, that makes this request safe to repeat: for 24 hours the same key with the same body gets the first answer again and creates nothing. The same key with another body is 422; while the first request still runs, 409. At most 255 characters; quotation marks around them are not part of the value. Keys are told apart per user and operation.
                 * @example 5f0c7f3e-5a0b-4c5e-9d3e-1a2b3c4d5e6f
                 */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotificationCreate"];
            };
        };
        responses: {
            /** @description The provider was assigned already; this is the assignment as it is set now. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationItem"];
                };
            };
            /** @description The new assignment. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["RequestInProgress"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["InvalidCreation"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeNotification: {
        parameters: {
            query?: {
                /**
                 * @description The provider to take off, instead of the body.
                 * @example 3
                 */
                provider_id?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The id of the monitor, as returned by the list and by its creation.
                 * @example 5
                 */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NotificationRemove"];
            };
        };
        responses: {
            /** @description The assignment is gone. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationRemoved"];
                };
            };
            /** @description The query string is not valid percent-encoded UTF-8, or the body could not be read as JSON, has a key twice in one object, or is not valid UTF-8. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listProviders: {
        parameters: {
            query: {
                /**
                 * @description The page to return, counted from 1. A page past the end is empty, not an error.
                 * @example 1
                 */
                page: components["parameters"]["PageExtension"];
                /**
                 * @description Items on a page.
                 * @example 100
                 */
                pageSize: components["parameters"]["PageSize100"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of your providers. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderPage"];
                };
            };
            400: components["responses"]["MalformedQuery"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["MissingScope"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createProvider: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A value of your own, such as a UUID, that makes this request safe to repeat: for 24 hours the same key with the same body gets the first answer again and creates nothing. The same key with another body is 422; while the first request still runs, 409. At most 255 characters; quotation marks around them are not part of the value. Keys are told apart per user and operation.
                 * @example 5f0c7f3e-5a0b-4c5e-9d3e-1a2b3c4d5e6f
                 */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProviderCreate"];
            };
        };
        responses: {
            /** @description The new provider. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Location: components["headers"]["ProviderLocation"];
                    ETag: components["headers"]["ETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            406: components["responses"]["NotAcceptable"];
            /** @description Your quota of providers is used up, or a request with the same `Idempotency-Key` still runs. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The request was read, but breaks the contract. `errors` names every fault, against the fields of the `provider_type` that was sent. Nothing was changed. The same `Idempotency-Key` with another body is answered with 422 as well. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    showProvider: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Answer 304 without a body if the item is still the version of this `ETag` (or one of several, separated by commas). `*` means any version.
                 * @example "2"
                 */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /**
                 * @description The id of the provider, as returned by the list and by its creation.
                 * @example 3
                 */
                id: components["parameters"]["ProviderId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The provider. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderItem"];
                };
            };
            /** @description The provider is still the version that `If-None-Match` names. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["MissingScope"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateProvider: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Write only if the item is still the version of this `ETag` (or one of several, separated by commas); otherwise 412 and nothing changes. `*` means any version. Without the header the write is done on whatever is there.
                 * @example "3"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the provider, as returned by the list and by its creation.
                 * @example 3
                 */
                id: components["parameters"]["ProviderId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProviderUpdate"];
            };
        };
        responses: {
            /** @description The provider after the change. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteProvider: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Write only if the item is still the version of this `ETag` (or one of several, separated by commas); otherwise 412 and nothing changes. `*` means any version. Without the header the write is done on whatever is there.
                 * @example "3"
                 */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the provider, as returned by the list and by its creation.
                 * @example 3
                 */
                id: components["parameters"]["ProviderId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The provider is gone. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderDeleted"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    testProvider: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the provider, as returned by the list and by its creation.
                 * @example 3
                 */
                id: components["parameters"]["ProviderId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The other side has accepted the message. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestResult"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            /** @description The other side refused the message or could not be reached. `detail` says what it answered. */
            502: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The operator has not set up this way of delivery, which waiting does not change; `detail` names the missing setting. Or the database cannot be reached for the moment; then `Retry-After` says when to try again. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /**
                     * @description Seconds to wait before trying again. Absent where waiting does not help.
                     * @example 2
                     */
                    "Retry-After"?: number;
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    showSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionItem"];
                };
            };
            401: components["responses"]["SessionRequired"];
            406: components["responses"]["NotAcceptable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionCreate"];
            };
        };
        responses: {
            /** @description You are signed in. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Set-Cookie": components["headers"]["Set-Cookie"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["InvalidCredentials"];
            403: components["responses"]["CrossOrigin"];
            406: components["responses"]["NotAcceptable"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description You are signed out. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Set-Cookie": components["headers"]["ClearedCookie"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDeleted"];
                };
            };
            401: components["responses"]["SessionRequired"];
            403: components["responses"]["CrossOrigin"];
            406: components["responses"]["NotAcceptable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description The password is changed. The session, which goes on. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["SessionRequired"];
            403: components["responses"]["CrossOrigin"];
            406: components["responses"]["NotAcceptable"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The current password is wrong, or the request breaks the contract. `errors` names every fault. Nothing was changed. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserCreate"];
            };
        };
        responses: {
            /** @description The new account. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserItem"];
                };
            };
            400: components["responses"]["MalformedJson"];
            /** @description The operator does not allow sign-up, or the request comes from a page of another origin. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            406: components["responses"]["NotAcceptable"];
            /** @description There is an account with this e-mail address already. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["InvalidInput"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
}
