import { expect } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import type { TestService } from '../support/service.ts';

export interface TestKey {
  id: number;
  key: string;
  /** Calls the service with the new key. */
  api: ApiClient;
}

/** Creates a key with the credentials of `creator`, as a client would. */
export async function createKeyWith(
  creator: ApiClient,
  service: Pick<TestService, 'url'>,
  fields: { name?: string; scopes?: string[]; expires_at?: string } = {},
): Promise<TestKey> {
  const { status, body } = await creator.post('/api/keys', { json: { name: 'Test', scopes: ['monitors:read'], ...fields } });
  expect(status).toBe(201);
  const { id, key } = body.data;
  return { id, key, api: new ApiClient(service.url, { Authorization: `Bearer ${key}` }) };
}
