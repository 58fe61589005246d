import { testRollingRestarts } from './restart-under-load.ts';

testRollingRestarts({ restarts: 20, posts: 10_000, timeoutMs: 900_000 });
testRollingRestarts({ restarts: 4, posts: 1000, workers: 2, timeoutMs: 300_000 });
