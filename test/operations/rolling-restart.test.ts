import { testRollingRestarts } from './restart-under-load.ts';

testRollingRestarts({ restarts: 6, posts: 2000, timeoutMs: 300_000 });
testRollingRestarts({ restarts: 2, posts: 500, workers: 2, timeoutMs: 300_000 });
