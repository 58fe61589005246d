import { testRollingRestarts } from './restart-under-load.ts';

testRollingRestarts({ restarts: 50, posts: 50_000, timeoutMs: 3_600_000 });
