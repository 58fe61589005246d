/* tslint:disable */
/* eslint-disable */
export * from './DeliveriesApi.js';
export * from './HeartbeatsApi.js';
export * from './IncidentsApi.js';
export * from './KeysApi.js';
export * from './LookupsApi.js';
export * from './MonitorsApi.js';
export * from './NotificationsApi.js';
export * from './ProvidersApi.js';
export * from './SessionApi.js';
export * from './StatisticsApi.js';
export * from './UsersApi.js';
export * from './WebsitesApi.js';
