// The operations of both contracts, read from the bundles without any code of the service.
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import type { operations as Monitoring } from '../../generated/types/monitoring.ts';
import type { operations as Websites } from '../../generated/types/websites.ts';
import websites from '../../generated/websites.json' with { type: 'json' };
import { dereference } from './dereference.ts';

export type OperationId = keyof Websites | keyof Monitoring;
export type Api = keyof typeof bundles;

export interface ContractOperation {
  id: OperationId;
  api: Api;
  method: string;
  /** With the root of the API, and `{id}` where an id goes. */
  path: string;
  scopes: string[];
  /** The security schemes that it takes; none means that everybody may call it. */
  credentials: string[];
  parameters: { name: string; in: string; required?: boolean; schema: { type?: string } }[];
  body?: { mediaType: string; required: boolean; examples: Record<string, object> };
  responses: Record<string, ContractResponse>;
}

export interface ContractResponse {
  headers?: Record<string, { required?: boolean; schema: object }>;
  content?: Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>;
}

export const bundles = { websites, monitoring };

export const operations = Object.fromEntries(
  (['websites', 'monitoring'] as const).flatMap((api) => operationsOf(api).map((operation) => [operation.id, operation])),
) as Record<OperationId, ContractOperation>;

interface Document {
  servers: { url: string }[];
  security: Record<string, unknown>[];
  paths: Record<string, Record<string, ApiDefinition> & { parameters?: ContractOperation['parameters'] }>;
}

interface ApiDefinition {
  operationId: OperationId;
  'x-required-scopes'?: string[];
  security?: Record<string, unknown>[];
  parameters?: ContractOperation['parameters'];
  requestBody?: { required?: boolean; content: Record<string, { examples?: Record<string, { value: object }> }> };
  responses: Record<string, ContractResponse>;
}

function operationsOf(api: Api): ContractOperation[] {
  const { servers, security, paths } = dereference(bundles[api]) as Document;
  const root = new URL(servers[0]?.url ?? '').pathname;
  return Object.entries(paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries(methods as Record<string, ApiDefinition>).map(([method, described]) => ({
      id: described.operationId,
      api,
      method: method.toUpperCase(),
      path: root + path,
      scopes: described['x-required-scopes'] ?? [],
      credentials: (described.security ?? security).flatMap((scheme) => Object.keys(scheme)),
      parameters: [...shared, ...(described.parameters ?? [])],
      ...(described.requestBody && { body: bodyOf(described.requestBody) }),
      responses: described.responses,
    })),
  );
}

function bodyOf({ required = false, content }: NonNullable<ApiDefinition['requestBody']>): NonNullable<ContractOperation['body']> {
  const [[mediaType, { examples = {} }] = ['', {}]] = Object.entries(content);
  return { mediaType, required, examples: Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value])) };
}
