/* tslint:disable */
/* eslint-disable */
export * from './incidents-api.js';
export * from './keys-api.js';
export * from './lookups-api.js';
export * from './monitors-api.js';
export * from './notifications-api.js';
export * from './providers-api.js';
export * from './session-api.js';
export * from './users-api.js';
export * from './websites-api.js';
