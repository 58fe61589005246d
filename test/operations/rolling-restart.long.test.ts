import { testRollingRestarts } from './restart-under-load.ts';

testRollingRestarts({ restarts: 50, posts: 50_000 }, 1_800_000);
