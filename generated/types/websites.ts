// Made by npm run generate from openapi/websites. Do not edit.

export interface paths {
    "/websites": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List websites
         * @description Your websites, page by page, newest first unless you sort otherwise. To read the settings of one known domain, use `GET /domains/{domain}` instead, which is quicker than a search.
         */
        get: operations["listWebsites"];
        put?: never;
        /**
         * Create a website
         * @description Adds a website. The domain is brought into normal form first, so `https://WWW.Example.com/blog` and `example.com` are the same website; a second one of the same name is refused with 409. Send an `Idempotency-Key` to be able to repeat the request safely.
         */
        post: operations["createWebsite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/websites/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the item, as returned by the list and by its creation.
                 * @example 7
                 */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        /**
         * Show a website
         * @description One website with its settings. Send the `ETag` you have as `If-None-Match` to get 304 while nothing changed.
         */
        get: operations["showWebsite"];
        /**
         * Update a website (PUT)
         * @description The same as PATCH: fields that are absent stay as they are, and an empty form changes nothing. `domain` cannot be changed.
         */
        put: operations["putWebsite"];
        post?: never;
        /**
         * Delete a website
         * @description Deletes the website with its settings. This cannot be undone. The domain is free again at once.
         */
        delete: operations["deleteWebsite"];
        options?: never;
        head?: never;
        /**
         * Update a website
         * @description Changes the settings that are sent and leaves the others as they are; an empty form changes nothing. `domain` cannot be changed. Send the `ETag` you have as `If-Match` so that nobody else's change is overwritten unseen.
         */
        patch: operations["updateWebsite"];
        trace?: never;
    };
    "/websites/{id}/verify-password": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the item, as returned by the list and by its creation.
                 * @example 7
                 */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a website's password
         * @description Says whether a password opens the website's statistics now, so that a dashboard can let its visitor in. It opens only while `privacy` is 2. Only wrong attempts count against the limits: 5 in 15 minutes per website and visitor, 100 an hour per website; then 429.
         */
        post: operations["verifyWebsitePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the website of a domain
         * @description The website for exactly this domain, after the same normal form as on creation, so that any spelling of the name finds it. Made for trackers: one indexed read, with `ETag` and 304.
         */
        get: operations["showWebsiteByDomain"];
        put?: never;
        post?: never;
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
        /** @description A website and its settings. */
        Website: {
            /**
             * Format: int64
             * @description Grows with creation time.
             */
            id: number;
            /** @description The domain in normal form: lower case, ASCII, without a leading `www.`. */
            domain: string;
            /**
             * Format: int32
             * @description Who may see the statistics: 0 public, 1 private, 2 with a password.
             * @enum {integer}
             */
            privacy: 0 | 1 | 2;
            /** @description Whether a password is stored. The password itself is never returned. */
            has_password: boolean;
            /**
             * Format: int32
             * @description Periodic e-mail reports: 0 disabled, 1 enabled. Stored and returned; no report is sent yet.
             * @enum {integer}
             */
            email: 0 | 1;
            /**
             * Format: int32
             * @description Leave common bots out of the counting: 0 no, 1 yes.
             * @enum {integer}
             */
            exclude_bots: 0 | 1;
            /** @description Query parameters to leave out, one a line; empty where there are none. */
            exclude_params: string;
            /** @description IP addresses and CIDR ranges to leave out, one a line; empty where there are none. */
            exclude_ips: string;
            /** @description Whether the website is marked as a favorite. */
            favorite: boolean;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When its settings last changed.
             */
            updated_at: string;
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
        WebsitePageMeta: {
            /** Format: int32 */
            current_page: number;
            /**
             * Format: int32
             * @enum {integer}
             */
            per_page: 10 | 25 | 50 | 100;
            /** Format: int32 */
            last_page: number;
            /**
             * Format: int32
             * @description Websites that match.
             */
            total: number;
            /**
             * Format: int32
             * @description The first row of this page, counted from 1; null on an empty page.
             */
            from: number | null;
            /**
             * Format: int32
             * @description The last row of this page; null on an empty page.
             */
            to: number | null;
        };
        /** @description One page of the list of websites. */
        WebsitePage: {
            data: components["schemas"]["Website"][];
            links: components["schemas"]["Links"];
            meta: components["schemas"]["WebsitePageMeta"];
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
        /** @description A new website. */
        WebsiteCreate: {
            /** @description A domain name, or an http(s) URL of which only the host is kept. International names are taken in any spelling and stored in ASCII form; a trailing dot and a leading `www.` are dropped. At least two labels of letters, digits and inner hyphens; no IP address; at most 253 characters in normal form. */
            domain: string;
            /**
             * Format: int32
             * @description 0 public, 1 private, 2 with a password. 2 needs a `password`.
             * @default 0
             * @enum {integer}
             */
            privacy: 0 | 1 | 2;
            /**
             * Format: password
             * @description 1 to 128 characters; empty means none. Stored hashed. Takes effect only while `privacy` is 2.
             */
            password?: string;
            /**
             * Format: int32
             * @description Periodic e-mail reports: 0 disabled, 1 enabled. No report is sent yet.
             * @default 0
             * @enum {integer}
             */
            email: 0 | 1;
            /**
             * Format: int32
             * @description Leave common bots out: 0 no, 1 yes.
             * @default 1
             * @enum {integer}
             */
            exclude_bots: 0 | 1;
            /** @description Query parameters to leave out, one name a line, at most 1,000 lines; no blanks, `&`, `=` or `#`. Blank lines and doubles are dropped. */
            exclude_params?: string;
            /** @description IPv4 and IPv6 addresses or CIDR ranges to leave out, one a line, at most 1,000 lines. Blank lines and doubles are dropped. */
            exclude_ips?: string;
        };
        /** @description One website. */
        WebsiteItem: {
            data: components["schemas"]["Website"];
        };
        /** @description The settings to change. Fields that are absent stay as they are; `domain` cannot be changed. */
        WebsiteUpdate: {
            /**
             * Format: int32
             * @description 0 public, 1 private, 2 with a password. 2 needs a `password`, sent now or stored before.
             * @enum {integer}
             */
            privacy?: 0 | 1 | 2;
            /**
             * Format: password
             * @description 1 to 128 characters. Sent empty, the stored one is removed, which is refused while `privacy` stays 2. Takes effect only while `privacy` is 2.
             */
            password?: string;
            /**
             * Format: int32
             * @description Periodic e-mail reports: 0 disabled, 1 enabled. No report is sent yet.
             * @enum {integer}
             */
            email?: 0 | 1;
            /**
             * Format: int32
             * @description Leave common bots out: 0 no, 1 yes.
             * @enum {integer}
             */
            exclude_bots?: 0 | 1;
            /** @description Query parameters to leave out, one name a line, at most 1,000 lines; no blanks, `&`, `=` or `#`. */
            exclude_params?: string;
            /** @description IPv4 and IPv6 addresses or CIDR ranges to leave out, one a line, at most 1,000 lines. */
            exclude_ips?: string;
            /** @description Mark the website as a favorite, or not. */
            favorite?: boolean;
        };
        /** @description Which website was deleted. */
        WebsiteDeleted: {
            /** Format: int64 */
            id: number;
            /** @enum {string} */
            object: "website";
            /** @enum {boolean} */
            deleted: true;
        };
        /** @description A password to try. */
        PasswordAttempt: {
            /**
             * Format: password
             * @description What the visitor typed.
             */
            password: string;
            /** @description Anything that tells one visitor from another, such as a hash of their address. Wrong attempts are counted for it; without it, for the address that calls. */
            visitor?: string;
        };
        /** @description Whether the password opens the website. */
        PasswordVerdict: {
            data: {
                /** @description True only while `privacy` is 2 and the password is the stored one. */
                opens: boolean;
            };
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
        /** @description The form could not be read, because it is not valid percent-encoded UTF-8. */
        MalformedForm: {
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
    };
    parameters: {
        /**
         * @description A value of your own, such as a UUID, that makes this request safe to repeat: for 24 hours the same key with the same body gets the first answer again and creates nothing. The same key with another body is 422; while the first request still runs, 409. At most 255 characters; quotation marks around them are not part of the value. Keys are told apart per user and operation.
         * @example 5f0c7f3e-5a0b-4c5e-9d3e-1a2b3c4d5e6f
         */
        "Idempotency-Key": string;
        /**
         * @description The id of the item, as returned by the list and by its creation.
         * @example 7
         */
        Id: number;
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
         * @description Where the new item can be read, relative to the origin.
         * @example /api/v1/websites/7
         */
        Location: string;
        /**
         * @description The version of the item. Send it back as `If-None-Match` to read only what changed, or as `If-Match` to write only what you have seen.
         * @example "3"
         */
        ETag: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listWebsites: {
        parameters: {
            query: {
                /**
                 * @description Only websites whose domain contains this text. Case does not matter, `%` and `_` stand for themselves, and empty means no filter.
                 * @example example
                 */
                search?: string;
                /**
                 * @description The field that `search` looks at.
                 * @example domain
                 */
                search_by: "domain";
                /**
                 * @description Only favorites (`true` or `1`), or only the others (`false` or `0`).
                 * @example true
                 */
                favorite?: boolean;
                /**
                 * @description `id` is the order of creation; `domain` sorts by the bytes of the name.
                 * @example domain
                 */
                sort_by: "id" | "domain";
                /**
                 * @description Descending or ascending.
                 * @example asc
                 */
                sort: "desc" | "asc";
                /**
                 * @description Websites on a page.
                 * @example 25
                 */
                per_page: 10 | 25 | 50 | 100;
                /**
                 * @description The page to return, counted from 1. A page past the end is empty, not an error.
                 * @example 1
                 */
                page: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of your websites. */
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
                    "application/json": components["schemas"]["WebsitePage"];
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
    createWebsite: {
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
                "application/x-www-form-urlencoded": components["schemas"]["WebsiteCreate"];
            };
        };
        responses: {
            /** @description The new website. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Location: components["headers"]["Location"];
                    ETag: components["headers"]["ETag"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebsiteItem"];
                };
            };
            400: components["responses"]["MalformedForm"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            406: components["responses"]["NotAcceptable"];
            /** @description You have this domain already, your quota of websites is used up, or a request with the same `Idempotency-Key` still runs. */
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
            /** @description The form was read, but breaks the contract. `errors` names every fault; a fault in a list with one entry a line also names the line. Nothing was changed. */
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
    showWebsite: {
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
                 * @description The id of the item, as returned by the list and by its creation.
                 * @example 7
                 */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The website. */
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
                    "application/json": components["schemas"]["WebsiteItem"];
                };
            };
            /** @description The website is still the version that `If-None-Match` names. */
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
    putWebsite: {
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
                 * @description The id of the item, as returned by the list and by its creation.
                 * @example 7
                 */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["WebsiteUpdate"];
            };
        };
        responses: {
            /** @description The website after the change. */
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
                    "application/json": components["schemas"]["WebsiteItem"];
                };
            };
            400: components["responses"]["MalformedForm"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The form was read, but breaks the contract. `errors` names every fault. Nothing was changed. */
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
    deleteWebsite: {
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
                 * @description The id of the item, as returned by the list and by its creation.
                 * @example 7
                 */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The website is gone. */
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
                    "application/json": components["schemas"]["WebsiteDeleted"];
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
    updateWebsite: {
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
                 * @description The id of the item, as returned by the list and by its creation.
                 * @example 7
                 */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["WebsiteUpdate"];
            };
        };
        responses: {
            /** @description The website after the change. */
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
                    "application/json": components["schemas"]["WebsiteItem"];
                };
            };
            400: components["responses"]["MalformedForm"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The form was read, but breaks the contract. `errors` names every fault. Nothing was changed. */
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
    verifyWebsitePassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the item, as returned by the list and by its creation.
                 * @example 7
                 */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["PasswordAttempt"];
            };
        };
        responses: {
            /** @description Whether the password opens the website. */
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
                    "application/json": components["schemas"]["PasswordVerdict"];
                };
            };
            400: components["responses"]["MalformedForm"];
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
    showWebsiteByDomain: {
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
                 * @description The domain, in any spelling.
                 * @example www.example.com
                 */
                domain: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The website. */
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
                    "application/json": components["schemas"]["WebsiteItem"];
                };
            };
            /** @description The website is still the version that `If-None-Match` names. */
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
}
