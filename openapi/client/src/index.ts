export * from './apis/index.js';
export * from './models/index.js';
export * from './problem.js';
export * from './runtime.js';
export * from './webhook.js';
