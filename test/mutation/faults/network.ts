import { type Fault, faultsIn } from '../fault.ts';

const guarded = ['test/net/guarded-request.test.ts'];
const tlsStream = ['test/net/tls-stream.test.ts'];
const http2 = ['test/net/http2.test.ts'];
const cookies = ['test/net/cookies.test.ts'];
const addresses = ['test/net/addresses.test.ts'];

export const networkFaults: Fault[] = [
  ...faultsIn({ file: 'src/net/guarded-request.ts', tests: guarded }, [
    {
      title: 'credentials are sent to another origin after a redirect',
      find: 'isSameOrigin || (secrets ? !secrets.includes(name) : harmlessHeaders.includes(name))',
      replace: 'isSameOrigin || secrets !== null || harmlessHeaders.includes(name)',
    },
    {
      title: 'a body is sent to another origin after a redirect',
      find: 'if (keepsMethod && !isSameOrigin && hop.body !== undefined)',
      replace: 'if (keepsMethod && isSameOrigin === undefined)',
    },
    {
      title: 'redirects to other protocols are followed',
      find: "!['http:', 'https:'].includes(url.protocol)",
      replace: "url.protocol === ''",
    },
    {
      title: 'a redirect can contain a password',
      find: "if (url.username !== '' || url.password !== '') throw",
      replace: "if (url.username === '-') throw",
    },
    { title: 'redirects are followed forever', find: 'if (redirects === maxRedirects) throw', replace: 'if (redirects === 1000) throw' },
    { title: 'compressed responses are requested', find: "'accept-encoding': 'identity'", replace: "'accept-encoding': 'gzip'" },
    { title: 'an event stream is waited for', find: 'target || endsWithHead?.(head.headers)', replace: 'target' },
    { title: 'cookies are forgotten after each redirect', find: 'cookies ??= new', replace: 'cookies = new', tests: cookies },
    { title: 'webhooks keep cookies', find: 'if (keepsCookies && setCookie)', replace: 'if (setCookie)', tests: cookies },
  ]),
  ...faultsIn({ file: 'src/net/turns.ts', tests: ['test/net/turns.test.ts'] }, [
    { title: 'all heavy work is done in one turn', find: 'if (nowMs < endMs)', replace: 'if (nowMs > 0)' },
    { title: 'searches delay the parsing of responses', find: '!least || share.usedMs < least.usedMs', replace: '!least' },
    {
      title: 'the heavy work of one user delays that of others',
      find: 'queueOf(kind, userId)',
      replace: 'queueOf(kind, 0)',
    },
    {
      title: 'a user saves time for later',
      find: 'if (queue.waiting.length === 0) queue.usedMs = Math.max(queue.usedMs, kind.servedMs);',
      replace: '',
    },
    {
      title: 'checks start late if many users search',
      find: 'leastServed([...kinds.values()].filter(({ busy }) => busy.size > 0))',
      replace: '[...kinds.values()].filter(({ busy }) => busy.size > 0).sort((a, b) => a.usedMs / a.busy.size - b.usedMs / b.busy.size)[0]',
    },
    {
      title: 'what a thread reports waits for the next costly piece',
      find: 'else setImmediate(() => setImmediate(runTurn)); //',
      replace: 'else setImmediate(runTurn); //',
    },
    {
      title: 'a kind of work saves its time for later',
      find: 'if (kind.busy.size === 0) kind.usedMs = Math.max(kind.usedMs, servedMs);',
      replace: '',
    },
    {
      title: 'a turn does not wait for what a piece causes',
      find: 'queueMicrotask(() => process.nextTick(runNext))',
      replace: 'runNext()',
    },
  ]),
  ...faultsIn({ file: 'src/net/deadline.ts', tests: guarded }, [
    { title: 'each redirect has its own timeout', find: '}, timeoutMs);', replace: '}, timeoutMs * 10);' },
    {
      title: 'a step that begins after the timeout runs on',
      find: 'if (this.#isOver) this.#interrupt();',
      replace: '',
      tests: ['test/net/deadline.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/net/connection.ts', tests: guarded }, [
    {
      title: 'the date of a valid certificate is reported if that of its issuer has expired',
      find: ' || !(expiry.getTime() < Date.now())',
      replace: '',
    },
    { title: 'a server is asked for the certificate of a name with a dot at its end', find: ".replace(/\\.$/, '')", replace: '' },
    { title: 'a name is resolved again after its addresses were checked', find: '      lookup: fixedLookup(addresses),\n', replace: '' },
    {
      title: 'the certificate of an address is checked for no name',
      find: "const servername = isIP(host) === 0 ? host.replace(/\\.$/, '') : '';",
      replace: "const servername = '';",
    },
  ]),
  ...faultsIn({ file: 'src/net/tls-thread.ts', tests: tlsStream }, [
    {
      title: 'certificates are not verified with NODE_TLS_REJECT_UNAUTHORIZED=0',
      find: 'rejectUnauthorized: verifiesTls, //',
      replace: '...(!verifiesTls && { rejectUnauthorized: false }), //',
    },
    { title: 'the certificate of an address is checked for localhost', find: '    host,\n    servername,\n', replace: '    servername,\n' },
    { title: 'a server can choose the group of a key exchange', find: ':!DHE', replace: '' },
    { title: 'a server can repeat the handshake', find: 'constants.SSL_OP_NO_RENEGOTIATION, //', replace: '0, //' },
  ]),
  ...faultsIn({ file: 'src/net/tls-thread.ts', tests: tlsStream }, [
    {
      title: 'costly handshakes of one user delay those of others',
      find: "inTurn('decrypting', connection.userId,",
      replace: "inTurn('decrypting', 0,",
    },
    {
      title: 'content is reported after what follows it',
      find: '    reportContent(id, connection);\n    report({ id, end: true });',
      replace: '    report({ id, end: true });',
    },
  ]),
  ...faultsIn({ file: 'src/net/tls-stream.ts', tests: tlsStream }, [
    {
      title: 'certificates of any length are verified',
      find: 'this.#socket.bytesRead > maxHandshakeBytes',
      replace: 'this.#socket.bytesRead > maxOtherBytes',
    },
    {
      title: 'a server can send tiny records of TLS without end',
      find: 'if (this.encryptedBytesRead - this.bytesRead > maxOtherBytes)',
      replace: 'if (this.encryptedBytesRead < 0)',
    },
    {
      title: 'a reset discards what the server sent before',
      find: 'if (this.#isHandling || (this.isSecure && !this.#isReading)) return;\n    if (this.#failure)',
      replace:
        'if (this.#failure) return void this.destroy(this.#failure);\n    if (this.#isHandling || (this.isSecure && !this.#isReading)) return;\n    if (this.#failure)',
    },
    {
      title: 'a server can send without end while nobody reads',
      find: '(this.isSecure && !this.#isReading)',
      replace: '(this.isSecure && !this)',
    },
    {
      title: 'a server is down because its records are small',
      find: 'const maxOtherBytes = 448 * 1024;',
      replace: 'const maxOtherBytes = 100 * 1024;',
      tests: ['test/monitoring/checks/http-options.test.ts'],
    },
    {
      title: 'authorities that become trusted later are unknown',
      find: 'if (authorities !== this.#authorities)',
      replace: 'if (!this.#authorities)',
      tests: guarded,
    },
    {
      title: 'no connection is secured after the thread has died',
      find: 'if (TlsThread.#current === this) TlsThread.#current = undefined;',
      replace: '',
    },
    {
      title: 'a process that has connected with TLS does not end',
      find: 'if (this.#streams.size === 0) this.#worker.unref(); //',
      replace: '//',
    },
    {
      title: 'a process can end before its connection is secure',
      find: '    this.#worker.ref();',
      replace: '    this.#worker.unref();',
    },
  ]),
  ...faultsIn({ file: 'src/net/http1.ts', tests: guarded }, [
    {
      title: 'an endless response is read to its end',
      find: 'if (!body.isFull && !isTooMuch()) return;',
      replace: 'if (body.size >= 0) return;',
    },
    {
      title: 'a body that was not read to its end seems to be complete',
      find: 'finish(!body.isFull);',
      replace: 'finish(false);',
    },
    { title: 'tiny chunks block the process', find: 'bytes: 8 * 1024', replace: 'bytes: 1024 * 1024' },
    { title: 'endless informational responses are read', find: 'if (++informationalResponses > max', replace: 'if (0 > max' },
    {
      title: '20 informational responses are too many',
      find: '++informationalResponses > max',
      replace: '++informationalResponses >= max',
    },
    { title: 'connections stay open', find: '    connection.socket.destroy();\n', replace: '' },
    { title: 'a POST that was sent is repeated', find: 'if (body !== undefined) return false;', replace: '', tests: http2 },
    {
      title: 'servers that answer with GOAWAY are down',
      find: '(type === settings || type === goaway)',
      replace: 'type === settings',
      tests: http2,
    },
    { title: 'servers of HTTP/2 without TLS are down', find: 'if (rawPacket) return isHttp2Frame(rawPacket);', replace: '', tests: http2 },
  ]),
  ...faultsIn({ file: 'src/net/http2.ts', tests: http2 }, [
    { title: 'connections over HTTP/2 stay open', find: '    meter.destroy();\n    socket.destroy();\n', replace: '' },
    {
      title: 'a server that ends the connection with its response ends the process',
      find: '    meter.destroy();\n    socket.destroy();\n',
      replace: '    session.destroy();\n    socket.destroy();\n',
      survives: 'Since the session is fed in turns, it has nothing left to read when it is destroyed here.',
    },
    {
      title: 'endless informational responses over HTTP/2 are read',
      find: 'if (++informationalResponses > max',
      replace: 'if (0 > max',
    },
    {
      title: 'a response over HTTP/2 can have any number of headers',
      find: 'maxHeaderListPairs: 256',
      replace: 'maxHeaderListPairs: 65_536',
    },
    {
      title: 'a server can send frames without end',
      find: 'if (this.otherBytes > maxOtherBytes)',
      replace: 'if (this.otherBytes < 0)',
    },
    {
      title: 'a body in tiny frames is an error',
      find: '() => meter.otherBytes > maxOtherBytes',
      replace: '() => false',
    },
    { title: 'tiny frames block the process', find: 'bytes: 1024, inTurn', replace: 'bytes: 64 * 1024, inTurn' },
    {
      title: 'informational responses over HTTP/2 are read until there are too many bytes',
      find: 'if (++informationalResponses > max',
      replace: 'if (0 > max',
    },
    { title: 'a body that was cut off counts as complete', find: 'stream.rstCode === 0 && body.size >= length', replace: 'length >= 0' },
    {
      title: 'the protocol that the server chose does not matter',
      find: "if (connection.protocol !== 'h2')",
      replace: "if (connection.protocol === 'x')",
    },
  ]),
  ...faultsIn({ file: 'src/net/feed-in-pieces.ts', tests: ['test/net/feed-in-pieces.test.ts'] }, [
    {
      title: 'a connection is read while its pieces wait',
      find: '    void feed();\n    return false;',
      replace: '    void feed();\n    read(65_536);\n    return true;',
    },
    { title: 'a paused connection gets pieces', find: ' && !socket.isPaused()) push', replace: ') push' },
    { title: 'a connection that was resumed gets no pieces', find: "  socket.on('resume', () => void feed());\n", replace: '' },
    { title: 'parsing waits like a search', find: "inTurn('parsing', userId, pushNext)", replace: "inTurn('searching', userId, pushNext)" },
  ]),
  ...faultsIn({ file: 'src/net/cookies.ts', tests: cookies }, [
    { title: 'there can be any number of cookies', find: 'if (++this.#received > maxCookies) return;', replace: '' },
    { title: 'a cookie can be of any size', find: 'if (Buffer.byteLength(cookie) > maxCookieBytes) continue;', replace: '' },
    { title: 'the cookie header can be of any size', find: 'if (Buffer.byteLength(longer) <= maxHeaderBytes)', replace: 'if (longer)' },
    {
      title: 'cookies of exactly 8 KiB are not sent',
      find: 'Buffer.byteLength(longer) <= max',
      replace: 'Buffer.byteLength(longer) < max',
    },
    {
      title: 'a Secure cookie is sent without TLS on this machine',
      find: 'allowSecureOnLocal: false',
      replace: 'allowSecureOnLocal: true',
    },
  ]),
  ...faultsIn({ file: 'src/net/tcp-probe.ts', tests: ['test/net/tcp-probe.test.ts'] }, [
    { title: 'only the first reply of several addresses counts', find: 'Promise.any(replies)', replace: 'Promise.race(replies)' },
  ]),
  ...faultsIn({ file: 'src/net/resolve.ts', tests: guarded }, [
    {
      title: 'a lack of open files is a failure of the monitor',
      find: "if (reasons.some((reason) => reason.code === 'ECONNREFUSED')) assertFileCanBeOpened();",
      replace: '',
      tests: ['test/net/resolve.test.ts'],
    },
    {
      title: 'a name that has only an IPv6 address is not resolved',
      find: ', ...withFamily(ipv6, 6)]',
      replace: ']',
      tests: ['test/net/resolve.test.ts'],
    },
    { title: 'a name with one public and one private address is allowed', find: 'addresses.every(', replace: 'addresses.some(' },
    {
      title: 'an IP address in a URL is not checked',
      find: 'if (!addresses.every(',
      replace: 'if (literal === undefined && !addresses.every(',
    },
    {
      title: 'every check fails after the DNS servers of the machine have changed',
      find: 'String(cached.getServers())) cached = fresh;',
      replace: 'String(cached.getServers())) void fresh;',
      tests: ['test/net/resolve.test.ts > the DNS servers of the machine have changed'],
    },
  ]),
  ...faultsIn({ file: 'src/net/addresses.ts', tests: addresses }, [
    { title: "the address of Azure's host service is public", find: "  '168.63.129.16', // looks", replace: '  // looks' },
    {
      title: 'addresses of 6to4 are public',
      find: "  '2002::/16', //",
      replace: '  //',
      survives: 'ipaddr.js rejects them as well. The list repeats them, so that the guarantee does not depend on its version.',
    },
    {
      title: 'IPv6 addresses outside of 2000::/3 are public',
      find: "return parsed.kind() === 'ipv4' || isWithin(parsed, globalIpv6);",
      replace: 'return true;',
    },
    { title: 'IPv4-mapped addresses are not recognized', find: 'ipaddr.process(address)', replace: 'ipaddr.parse(address)' },
    {
      title: 'a short notation of 127.0.0.1 is taken for a name',
      find: 'if (isIP(bare) !== 0) return bare;',
      replace: 'if (isIP(host) !== 0) return bare;',
    },
    { title: 'names below localhost are resolved', find: 'test(bare) ? ', replace: "test(bare) && bare === 'localhost' ? " },
    {
      title: 'a URL can contain a password',
      find: "if (url.username !== '' || url.password !== '') return",
      replace: "if (url.username === '-') return",
    },
  ]),
  ...faultsIn({ file: 'src/net/ping.ts', tests: ['test/net/ping.test.ts'] }, [
    { title: 'the ping program gets the secrets of the service', find: ', env: programEnvironment() }', replace: ' }' },
    {
      title: 'a host can be taken for an option of fping',
      find: '[...options, ...addresses.filter(isAddress)]',
      replace: '[...options, ...addresses]',
    },
    {
      title: 'a host can be taken for an option of ping',
      find: '    addresses.filter(isAddress).map(async',
      replace: '    addresses.map(async',
    },
    { title: 'a ping program that fails counts as a host that is down', find: 'if (code > 2) throw', replace: 'if (code > 200) throw' },
    {
      title: 'no other ping program is used if the first one is gone',
      find: '      if (other === ping) throw error;\n      return this.#pingAll(addresses);',
      replace: '      throw other ? error : error;',
    },
    {
      title: 'a service that could not ping once never can',
      find: '(await this.#found.ping) ?? (await this.#findAgain())',
      replace: 'await this.#found.ping',
    },
  ]),
  ...faultsIn({ file: 'src/net/network-error.ts', tests: ['test/net/network-error.test.ts'] }, [
    {
      title: 'a refused connection is no reply',
      find: "new Set<NetworkErrorKind>(['refused', ",
      replace: 'new Set<NetworkErrorKind>([',
    },
    {
      title: 'a local error hides that one of several addresses has replied',
      find: 'errors.find(({ isReply }) => isReply) ?? errors.find',
      replace: 'errors.find(({ kind }) => kind === "local") ?? errors.find',
    },
  ]),
  ...faultsIn({ file: 'src/net/command-socket.ts', tests: ['test/net/command-socket.test.ts'] }, [
    { title: 'any number of clients can connect to the command socket', find: '  server.maxConnections = maxClients;\n', replace: '' },
    {
      title: 'every user of the machine can send operator commands',
      find: '  await chmod(path, 0o600);\n',
      replace: '  await chmod(path, 0o666);\n',
      tests: ['test/runtime/command-service.test.ts'],
    },
    {
      title: 'a request on the command socket can have any length',
      find: 'const maxRequestBytes = 64 * 1024;',
      replace: 'const maxRequestBytes = 64 * 1024 * 1024;',
    },
    { title: 'a command goes on after its client has gone', find: 'AbortSignal.any([stopping, gone.signal])', replace: 'stopping' },
  ]),
  ...faultsIn({ file: 'src/monitoring/checks/http/http.check.ts', tests: ['test/monitoring/checks/http.test.ts'] }, [
    { title: 'a check follows 20 redirects', find: 'const maxRedirects = 5;', replace: 'const maxRedirects = 20;' },
    {
      title: 'a response 3xx without a usable Location counts as up',
      find: 'if (!isExpected(response.status, options.expected_status))',
      replace: 'if (response.status >= 400 && !isExpected(response.status, options.expected_status))',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/post.ts', tests: ['test/monitoring/channels/post.test.ts'] }, [
    { title: 'redirects of a webhook are followed', find: 'maxRedirects: 0', replace: 'maxRedirects: 5' },
    {
      title: 'an alert to an address that is not allowed is retried',
      find: "permanent: kind === 'address_not_allowed'",
      replace: 'permanent: false && kind',
      tests: ['test/monitoring/channels/slack.test.ts'],
    },
    {
      title: 'an alert is not retried when its receiver cannot be reached',
      find: "permanent: kind === 'address_not_allowed'",
      replace: "permanent: kind !== 'timeout'",
    },
    { title: 'a response 429 is a permanent failure', find: 'if (status === 429 || status >= 500) {', replace: 'if (status >= 500) {' },
    {
      title: 'a receiver can delay an alert for years',
      find: 'const maxRetryAfterSeconds = 24 * 60 * 60;',
      replace: 'const maxRetryAfterSeconds = 1e9;',
    },
    {
      title: 'a login that the SMS service rejects is not counted as a wrong setting',
      find: '      settings: credentials,\n',
      replace: '',
      tests: ['test/monitoring/channels/sms.test.ts'],
    },
    {
      title: 'alerts are given up when the SMS service rejects the login of the operator',
      find: 'if (credentials.length > 0 && (status === 401 || status === 403)) {',
      replace: 'if (credentials.length > 0 && status === 0) {',
      tests: ['test/monitoring/channels/sms.test.ts'],
    },
    {
      title: 'users see what was wrong with the login of the operator',
      find: 'rejected the login of this service with status ${status}.`',
      replace: 'rejected the login of this service with status ${status}${suffix}.`',
      tests: ['test/monitoring/channels/sms.test.ts'],
    },
    {
      title: 'a revoked token of a user counts as a wrong setting of the operator',
      find: 'credentials.length > 0 && (',
      replace: 'credentials.length >= 0 && (',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/channel.ts', tests: ['test/monitoring/alerts/deliveries.test.ts'] }, [
    {
      title: 'an alert that the operator prevents is not counted as misconfigured',
      find: 'this.settings = settings;',
      replace: 'this.settings = settings.slice(0, 0);',
      tests: ['test/monitoring/alerts/deliveries.test.ts > the operator has to correct'],
    },
    {
      title: 'an alert whose channel is not configured is not counted as misconfigured',
      find: 'settings: [setting],',
      replace: 'settings: [],',
      tests: ['test/monitoring/channels/sms.test.ts > the first missing setting'],
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/redact.ts', tests: ['test/monitoring/channels/redact.test.ts'] }, [
    {
      title: 'an error shows a segment of the path of a webhook',
      find: '[pathname + search, ...`${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length > 8)]',
      replace: '[pathname + search]',
    },
    { title: 'an error shows the query of a webhook', find: '`${pathname}${search}`.split(', replace: '`${pathname}`.split(' },
    { title: 'an error shows a secret in other letters', find: "'gi');", replace: "'g');" },
    {
      title: 'an error shows a secret in base64',
      find: ", Buffer.from(secret).toString('base64')]",
      replace: ']',
    },
    {
      title: 'an error shows the rest of a secret that contains another',
      find: 'b.length - a.length',
      replace: 'a.length - b.length',
    },
    {
      title: 'an error shows the beginning of a secret that overlaps the end of another',
      find: 'end = Math.max(end, index + secret.length);',
      replace: 'end = index >= end ? index + secret.length : end;',
    },
    {
      title: 'an error shows the beginning of a secret that is behind the limit in part',
      find: 'text.slice(0, maxReadLength + longest.length)',
      replace: 'text.slice(0, maxReadLength)',
    },
    {
      title: 'all of a long response is searched for secrets',
      find: 'const maxReadLength = 4096;',
      replace: 'const maxReadLength = 65_536;',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/sms/sms.channel.ts', tests: ['test/monitoring/channels/sms.test.ts'] }, [
    {
      title: 'an error shows the account and the credentials of the SMS service',
      find: 'secrets: [twilioAuthToken, twilioAccountSid, credentials]',
      replace: 'secrets: [twilioAuthToken]',
    },
    {
      title: 'an error shows the credentials of the SMS service',
      find: 'secrets: [twilioAuthToken, twilioAccountSid, credentials]',
      replace: 'secrets: [twilioAuthToken, twilioAccountSid]',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/email/email.channel.ts', tests: ['test/monitoring/channels/email.test.ts'] }, [
    { title: 'an address can add recipients', find: 'if (!isSingleAddress(recipient)) throw', replace: 'if (!recipient) throw' },
    { title: 'a rejected login is a permanent failure', find: "responseCode >= 500 && code !== 'EAUTH'", replace: 'responseCode >= 500' },
    {
      title: 'out-of-office replies come back',
      find: "    headers: { 'Auto-Submitted': 'auto-generated' }, // Prevents out-of-office replies.\n",
      replace: '',
    },
    {
      title: 'a mail about a recovery does not reply to the one about the outage',
      find: '...(continues !== undefined && { inReplyTo: idOf(continues), references: idOf(continues) }),',
      replace: '',
    },
    {
      title: 'mail programs that look at the references do not show a recovery below its outage',
      find: ', references: idOf(continues) }',
      replace: ' }',
    },
    {
      title: 'an id can end the Message-ID',
      find: "message.replace(/[^\\w.-]/g, '-')",
      replace: 'message',
    },
    {
      title: 'a login that the mail server rejects is not counted as a wrong setting',
      find: "settings: code === 'EAUTH' ? ['SMTP_URL'] : [],",
      replace: 'settings: [],',
    },
    {
      title: 'the user who adds a recipient sees the link that confirms it, if the mail server quotes it',
      find: ', ...secretsIn(message)]',
      replace: ']',
    },
    {
      title: 'the user who adds a recipient sees the link that confirms it, if the mail server quotes a part of it',
      find: 'return Array.from({ length: signature.length - 7 }, (_, index) => signature.slice(index, index + 8));',
      replace: 'return [signature];',
    },
    {
      title: 'mails do not name their incident',
      find: 'event.data.incident?.id : undefined',
      replace: 'undefined : undefined',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/email/email-message.ts', tests: ['test/monitoring/channels/email.test.ts'] }, [
    { title: 'the name of a monitor is HTML in mails', find: '<bdi>${escapeHtml(heading)}</bdi>', replace: '<bdi>${heading}</bdi>' },
    {
      title: 'the cause of an outage is HTML in mails',
      find: '=> escapeHtml(show(text));',
      replace: '=> show(text);',
    },
    {
      title: 'the subject of a mail is HTML in its title',
      find: '<title>${escapeHtml(subject)}</title>',
      replace: '<title>${subject}</title>',
    },
    {
      title: 'the address of a monitor can end the link in a mail',
      find: '<a class="link" href="${escapeHtml(url)}"',
      replace: '<a class="link" href="${url}"',
    },
    {
      title: 'the address of a monitor can end the button in a mail',
      find: '<a class="button" href="${escapeHtml(url)}"',
      replace: '<a class="button" href="${url}"',
    },
    {
      title: 'the recipient is HTML in mails',
      find: '${footerLines(mail).map(escapeHtml)',
      replace: '${footerLines(mail)',
    },
    {
      title: 'a mail does not say why its recipient gets it',
      find: '[...(about === null ? [] : [reasonOf(about, recipient)]), ',
      replace: '[',
    },
    {
      title: 'a mail about a group says that its recipient is assigned to one monitor',
      find: 'is assigned to these monitors.',
      replace: 'is assigned to this monitor.',
    },
    {
      title: 'a mail about the delivery of alerts says that its recipient is assigned to a monitor',
      find: 'You get this because it is about the providers of this account, and “${recipient}” is one of them.',
      replace: 'You get this because “${recipient}” is assigned to this monitor.',
    },
    {
      title: 'a name can be decoded as an encoded word in a subject',
      find: "    .replaceAll('=?', '= ?')\n",
      replace: '',
    },
    {
      title: 'the subject of a mail can have more than 1,000 characters',
      find: 'const maxSubjectLength = 200;',
      replace: 'const maxSubjectLength = 2000;',
    },
    {
      title: 'a mail shows an address of 2,000 characters',
      find: 'const maxAddressLength = 200;',
      replace: 'const maxAddressLength = 2000;',
    },
    {
      title: 'mails have times without seconds',
      find: ', withSeconds: true',
      replace: '',
    },
    {
      title: 'mails do not name the installation',
      find: "installation === 'Sitekeeper' ? [] : [installation]",
      replace: '[]',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/slack/slack-message.ts', tests: ['test/monitoring/channels/slack.test.ts'] }, [
    {
      title: 'a monitor name can notify everybody in a channel',
      find: 'return text.replace(/[&<>]/g, (character) => entities[character] ?? character);',
      replace: 'return text.replace(/[&]/g, (character) => entities[character] ?? character);',
    },
    {
      title: 'a cause can notify everybody in a channel',
      find: '(time) => localTime(time, at),\n      (part) => encode(part, limit),',
      replace: '(time) => localTime(time, at),',
    },
    {
      title: 'a URL can end its link in Slack and mention somebody after it',
      find: 'url.replace(/[|<>\\s]/g, encodeURIComponent)',
      replace: 'url',
    },
    {
      title: 'names format messages in Slack',
      find: "!/[*_~`]/.test([title, ...line, ...list].join(''))",
      replace: "[title, ...line, ...list].join('') !== ''",
    },
    {
      title: 'the name of the installation can notify everybody in a channel',
      find: '[...shown, encode(installation, limits.footer)]',
      replace: '[...shown, installation]',
    },
    { title: 'Slack rejects a message because of a long URL', find: 'url: 2000', replace: 'url: 20_000' },
    { title: 'Slack rejects a message because of a long cause', find: 'phrase: 200', replace: 'phrase: 2000' },
    {
      title: 'Slack rejects a message because of a cause that it gets with entities',
      find: "truncate(text, limit, '…', (part) => escapeEntities(part).length)",
      replace: "truncate(text, limit, '…')",
    },
    { title: 'Slack makes mentions of what it finds in a cause', find: ' verbatim: true,', replace: '' },
    {
      title: 'Slack loads the site that is down',
      find: 'unfurl_links: false,\n    unfurl_media',
      replace: 'unfurl_links: true as false,\n    unfurl_media',
    },
    {
      title: 'Slack shows times in milliseconds as dates in the far future',
      find: 'Math.floor(time.getTime() / 1000)',
      replace: 'Math.floor(time.getTime())',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/telegram/telegram-message.ts', tests: ['test/monitoring/channels/telegram.test.ts'] }, [
    {
      title: 'the name of a monitor is HTML in Telegram',
      find: '`${sign} ${encodeText(title, limits.title)}`',
      replace: '`${sign} ${title}`',
    },
    {
      title: 'the cause of an outage is HTML in Telegram',
      find: 'utcText(text, { now: at, encode: (part) => encodeText(part, limit) })',
      replace: 'utcText(text, { now: at })',
    },
    {
      title: 'a URL can end its link in Telegram',
      find: '<a href="${encode(url)}">',
      replace: '<a href="${url}">',
    },
    {
      title: 'the name of a monitor notifies somebody in Telegram',
      find: "text.replace(/@(?=\\w)/g, '@\\u2060')",
      replace: 'text',
    },
    {
      title: 'the name of the installation is HTML in Telegram',
      find: '...others, encodeText(installation, limits.footer)]',
      replace: '...others, installation]',
    },
    {
      title: 'a list of monitors with long names is too long for Telegram',
      find: 'listed: 250',
      replace: 'listed: 2500',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/telegram/telegram.channel.ts', tests: ['test/monitoring/channels/telegram.test.ts'] }, [
    {
      title: 'Telegram shows the markup of messages',
      find: "        parse_mode: 'HTML',\n",
      replace: '',
    },
    {
      title: 'Telegram loads the site that is down',
      find: 'is_disabled: true',
      replace: 'is_disabled: false',
    },
  ]),
  ...faultsIn({ file: 'src/monitoring/channels/sms/sms-message.ts', tests: ['test/monitoring/channels/sms/sms-message.test.ts'] }, [
    {
      title: 'an SMS that is too long loses the end of the name before the path of the address',
      find: 'return [full, withHost, withShortName,',
      replace: 'return [full, { ...withShortName, address: full.address }, withHost, withShortName,',
    },
    {
      title: 'an SMS that is too long loses the host before the end of the name',
      find: 'return [full, withHost, withShortName,',
      replace: "return [full, withHost, { ...full, address: '' }, withShortName,",
    },
    {
      title: 'an SMS that is too long loses the times before the host',
      find: 'return [full, withHost, withShortName,',
      replace: 'return [full, withHost, withShortName, { ...withShortName, hasClock: false },',
    },
    {
      title: 'an SMS with a name that GSM lacks loses the times before the address',
      find: "return [full, { ...full, address: '' },",
      replace: "return [full, { ...full, hasClock: false }, { ...full, address: '' },",
    },
    {
      title: 'an SMS with a name that GSM lacks is cut within a visible character',
      find: "const text = asOneSegment(minimal(truncate(name, length, '..')));",
      replace: 'const text = asOneSegment(minimal(`${name.slice(0, length - 2)}..`));',
    },
    {
      title: 'the cause in an SMS is that of the whole message, however long it is',
      find: 'const cause = shortCause(incident.cause);',
      replace: "const cause = incident.cause || shortCause('');",
    },
    {
      title: 'an SMS about an outage of several days has times without days',
      find: 'const isRecent = ms < dayMs;',
      replace: 'const isRecent = ms < 1000 * dayMs;',
    },
    {
      title: 'an SMS about a group needs several segments',
      find: "return fitOneSegment(`${content.title}: ${content.list.join(', ')}`);",
      replace: "return fitOneSegment(content.title).concat(`: ${content.list.join(', ')}`);",
    },
  ]),
  ...faultsIn(
    { file: 'src/monitoring/messages/text.ts', tests: ['test/monitoring/messages/text.test.ts', 'test/monitoring/channels/email.test.ts'] },
    [
      {
        title: 'a name can turn the direction of the text after it in a subject',
        find: '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069',
        replace: '',
        tests: ['test/monitoring/channels/email.test.ts > has a subject without characters that change the direction'],
      },
      {
        title: 'a name can begin a new line in a message',
        find: 'replace(/[\\s\\p{Cc}]+/gu',
        replace: 'replace(/[ ]+/gu',
      },
    ],
  ),
];
