import { OperatorError } from '../errors.ts';

/** Invalid settings or options. The message tells the operator what to change, with one line for each setting. */
export class ConfigError extends OperatorError {}
