// Many clients that write the same resource at the same time.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { guarantee } from '../support/guarantee.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { createMonitor, createWebsite } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

guarantee(
  16,
  '100 concurrent creations of one domain get one 201 and 99 × 409; 50 concurrent updates with one ETag get one 200 and 49 × 412',
  async () => {
    const creations = await sendConcurrently(100, () => user.api.post('/api/v1/websites', { form: { domain: 'contested.example' } }));
    expect(creations).toEqual({ 201: 1, 409: 99 });
    const sender = { service, user };
    const updates: object[] = [];
    for (const [path, change] of [
      [`/api/v1/websites/${(await createWebsite(sender)).id}`, (index: number) => ({ form: { exclude_params: `p${index}` } })],
      [`/api/monitors/${await createMonitor(sender)}`, (index: number) => ({ json: { friendly_name: `M${index}` } })],
    ] as const) {
      const etag = (await user.api.get(path)).headers.get('ETag') ?? '';
      const outcome = await sendConcurrently(50, (index) => user.api.put(path, { ...change(index), headers: { 'If-Match': etag } }));
      expect([path, outcome]).toEqual([path, { 200: 1, 412: 49 }]);
      updates.push(outcome);
    }
    return `creations ${JSON.stringify(creations)}, updates ${updates.map((outcome) => JSON.stringify(outcome)).join(' and ')}`;
  },
);

/** Sends the requests at the same time and returns the number of responses by status. */
async function sendConcurrently(count: number, request: (index: number) => Promise<ApiResponse>): Promise<Record<number, number>> {
  const responses = await Promise.all(Array.from({ length: count }, (_, index) => request(index)));
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
