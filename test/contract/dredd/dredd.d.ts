// Types for the part of Dredd that the contract run uses. The package has none.
declare module 'dredd' {
  import type { EventEmitter } from 'node:events';

  export interface Transaction {
    /** The name of a resource is the template of its path. */
    origin: { apiName: string; resourceName: string };
    expected: { statusCode: string; headers: Record<string, string>; body?: string };
    request: { method: string; headers: Record<string, string>; body: string | Buffer };
    protocol: string;
    host: string;
    port: string;
    fullPath: string;
    /** The transaction is not sent. */
    skip?: boolean;
    /** If set, the transaction fails with this reason, regardless of what Dredd finds. */
    fail?: string;
    real: { statusCode: number; headers: Record<string, string | string[]>; body?: string };
  }

  export interface ApiDescription {
    /** The parsed document. */
    apiElements?: object;
  }

  export interface Test {
    status: 'pass' | 'fail' | 'skip';
    message: string;
    origin: Transaction['origin'];
    request: Transaction['request'];
    expected: Transaction['expected'];
    errors?: { message: string }[];
  }

  export default class Dredd {
    constructor(configuration: {
      endpoint: string;
      path: string[];
      hookfiles: string[];
      emitter: EventEmitter;
      loglevel: string;
    });
    run(
      done: (error: Error | null, stats: { tests: number; passes: number; failures: number; errors: number; skipped: number }) => void,
    ): void;
  }
}

declare module 'dredd/build/reporters/reporterOutputLogger.js' {
  const logger: { default: { transports: { console: { silent: boolean } } } };
  export default logger;
}
