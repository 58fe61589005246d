import {
  type Configuration,
  IncidentsApi,
  LookupsApi,
  MonitorsApi,
  NotificationsApi,
  type ProviderCreate,
  ProvidersApi,
  StatisticsApi,
  WebsitesApi,
} from '../../../generated/client/src/index.ts';

/** Creates, reads, changes and deletes a website, and returns all responses. */
export async function websiteLifecycle(configuration: Configuration) {
  const websites = new WebsitesApi(configuration);
  const lookups = new LookupsApi(configuration);
  const { data: created } = await websites.createWebsite({ domain: 'https://www.Example.com/', email: 1, idempotencyKey: 'first' });
  const { id } = created;
  const listed = await websites.listWebsites({ search: 'example', sort_by: 'domain', sort: 'asc', per_page: 25 });
  const { data: updated } = await websites.updateWebsite({
    id,
    privacy: 2,
    password: 'open sesame',
    favorite: true,
    exclude_ips: '192.0.2.7\n2001:db8::/32',
  });
  const { data: put } = await websites.putWebsite({ id, favorite: false });
  const { data: shown } = await websites.showWebsite({ id });
  const { data: verification } = await lookups.verifyWebsitePassword({ id, password: 'open sesame', visitor: 'v1' });
  const { data: found } = await lookups.showWebsiteByDomain({ domain: 'www.example.com' });
  const deleted = await websites.deleteWebsite({ id });
  return { created, listed, updated, put, shown, verification, found, deleted };
}

/** Creates, reads, changes and deletes a monitor with an assigned provider, and returns all responses. */
export async function monitorLifecycle(configuration: Configuration, provider: ProviderCreate) {
  const monitors = new MonitorsApi(configuration);
  const providers = new ProvidersApi(configuration);
  const notifications = new NotificationsApi(configuration);
  const { data: created } = await monitors.createMonitor({ body: { friendly_name: 'Shop', url: 'https://example.com', interval: 60 } });
  const { id } = created;
  const { data: createdProvider } = await providers.createProvider({ body: provider });
  const { data: assigned } = await notifications.addNotification({ id, body: { provider_id: createdProvider.id } });
  const assignments = await notifications.listNotifications({ id });
  const listed = await monitors.listMonitors({ pageSize: 50 });
  const incidents = await new IncidentsApi(configuration).listIncidents({ id, window: '30d' });
  const allIncidents = await new IncidentsApi(configuration).listAllIncidents({ status: 'open', window: '1y' });
  const statistics = new StatisticsApi(configuration);
  const { data: ofMonitor } = await statistics.showStatistics({ id, resolution: '5m' });
  const ofAll = await statistics.listStatistics({ window: '7d', sort: 'worst_first', pageSize: 25 });
  const { data: overview } = await statistics.showOverview();
  const checks = await statistics.listChecks({ id, outcome: 'down', pageSize: 1000 });
  const { data: checked } = await monitors.checkMonitor({ id });
  // Null is a value that can be expected.
  const { data: strict } = await monitors.updateMonitor({ id, body: { http: { json: { pointer: '/error', equals: null } } } });
  const { data: updated } = await monitors.updateMonitor({ id, body: { friendly_name: 'Shop (Europe)', is_active: false } });
  const { data: shown } = await monitors.showMonitor({ id });
  const removed = await notifications.removeNotification({ id, provider_id: createdProvider.id });
  const providerDeleted = await providers.deleteProvider({ id: createdProvider.id });
  const deleted = await monitors.deleteMonitor({ id });
  return {
    created,
    createdProvider,
    assigned,
    assignments,
    listed,
    incidents,
    allIncidents,
    statistics: { ofMonitor, ofAll, overview, checks },
    checked,
    strict,
    updated,
    shown,
    removed,
    providerDeleted,
    deleted,
  };
}
