import { testRollingRestarts } from './restart-under-load.ts';

testRollingRestarts({ restarts: 20, posts: 10_000 }, 480_000);
