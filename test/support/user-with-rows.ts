import type { Query } from '../../src/db/statement.ts';
import { dayChunks, hourChunks, totalsId, writeChunks } from '../../src/monitoring/statistics/chunk-rows.ts';
import { startOfDay, startOfMonth } from '../../src/monitoring/statistics/periods.ts';
import { startProgress } from '../../src/monitoring/statistics/progress.ts';
import { appendChecks } from '../../src/monitoring/statistics/record-checks.ts';
import { sampleAlert } from './sample-event.ts';
import type { TestService, TestUser } from './service.ts';

/** Creates a user with a row in every table, so that tests can check the row-level security policies of every table. */
export async function createUserWithRows(service: TestService): Promise<TestUser> {
  const password = 'correct horse battery';
  const user = await service.createUser(password);
  const { id, email, api } = user;
  await service.anonymous.post('/api/session', { json: { email, password } });
  await api.post('/api/v1/websites', { form: { domain: `site${id}.example` }, headers: { 'Idempotency-Key': 'once' } });
  const monitor = await api.post('/api/monitors', { json: { friendly_name: 'M', url: 'https://example.com' } });
  const provider = await api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } });
  const [monitorId, providerId] = [monitor.body.data.id, provider.body.data.id];
  await api.post(`/api/monitors/${monitorId}/notifications`, { json: { provider_id: providerId } });
  await service.database.asEngine(async (em) => {
    const [incident] = await em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'HTTP 503') returning id`,
      [id, monitorId],
    );
    await em.execute(`insert into alerts (user_id, incident_id, provider_id, kind, payload) values (?, ?, ?, ${sampleAlert()})`, [
      id,
      incident?.id,
      providerId,
    ]);
    await em.execute(`insert into message_counts (user_id, counter, period_start, messages) values (?, 'sms', now(), 1)`, [id]);
  });
  await service.database.engineTransaction((query) => insertHistory(query, { userId: id, monitorId }));
  // A trigger remembers that its history is still to be deleted.
  const deleted = await api.post('/api/monitors', { json: { friendly_name: 'Deleted', url: 'https://example.com' } });
  await api.delete(`/api/monitors/${deleted.body.data.id}`);
  return user;
}

/** Adds a check, the statistics of an hour and of a day, and their sums of the user. The hour and the day have nothing to count yet. */
async function insertHistory(query: Query, subject: { userId: number; monitorId: number }) {
  const nowMs = Date.now();
  await query(startProgress({}));
  await appendChecks(query, [{ ...subject, checkedAtMs: nowMs, responseTimeMs: 5, failure: undefined }]);
  for (const monitorId of [subject.monitorId, totalsId]) {
    const row = { ...subject, monitorId, chunk: new Map() };
    await writeChunks(query, hourChunks, [{ ...row, startMs: startOfDay(nowMs) }]);
    await writeChunks(query, dayChunks, [{ ...row, startMs: startOfMonth(nowMs) }]);
  }
}
