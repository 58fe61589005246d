import { OperatorError } from '../errors.ts';

/** An invalid setting or option. The message tells the operator what to change. */
export class ConfigError extends OperatorError {}
