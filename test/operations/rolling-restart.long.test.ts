import { testRollingRestarts } from './restart-under-load.ts';

testRollingRestarts({ restarts: 50, posts: 50_000, timeoutMs: 3_600_000 });
testRollingRestarts({ restarts: 10, posts: 5000, workers: 2, timeoutMs: 900_000 });
