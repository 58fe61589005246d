// Dredd loads hooks with `require`, and knows no promises; what they do is in TypeScript.
const hooks = require('hooks');
const { callHook } = require('./current-hooks.ts');

hooks.beforeEach((transaction, done) => callHook('before', transaction, done));
hooks.beforeEachValidation((transaction, done) => callHook('validate', transaction, done));
