// Dredd loads hooks with `require`, and only warns where it cannot: the run fails then, because nothing was prepared.
const hooks = require('hooks');
const { callHook } = require('./current-hooks.ts');

hooks.beforeEach((transaction, done) => callHook('before', transaction, done));
hooks.beforeEachValidation((transaction, done) => callHook('validate', transaction, done));
