import { expect, test } from 'vitest';
import { consume, memoryLimiters } from '../../src/limits/limiters.ts';

test('memory limiters drop the least recently used keys, so that a flood of addresses cannot fill the memory', async () => {
  const limiter = memoryLimiters().create('flood', 5, 60);
  await consume(limiter, 'first');
  for (let address = 0; address < 100_001; address++) await consume(limiter, `address ${address}`);
  expect(await limiter.get('first')).toBeNull();
  expect((await limiter.get('address 100000'))?.consumedPoints).toBe(1);
  expect((await limiter.get('address 5'))?.consumedPoints).toBe(1);
});
