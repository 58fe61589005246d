import { testRollingRestarts } from './restart-under-load.ts';

testRollingRestarts({ restarts: 4, posts: 1000, timeoutMs: 300_000 });
testRollingRestarts({ restarts: 2, posts: 300, workers: 2, timeoutMs: 300_000 });
