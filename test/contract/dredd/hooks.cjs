// Dredd loads hooks with `require` and does not support promises. The hooks themselves are written in TypeScript.
const hooks = require('hooks');
const { callHook } = require('./current-hooks.ts');

hooks.beforeEach((transaction, done) => callHook('before', transaction, done));
hooks.beforeEachValidation((transaction, done) => callHook('validate', transaction, done));
