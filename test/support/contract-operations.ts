// The operations of both contracts, read from the bundles without any code of the service, so that the tests do not depend on it.
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
  /** Starts with the base path of the API and contains placeholders such as `{id}`. */
  path: string;
  scopes: string[];
  /** The security schemes that the operation accepts. If empty, it requires no credentials. */
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
  paths: Record<string, Record<string, OperationDefinition> & { parameters?: ContractOperation['parameters'] }>;
}

interface OperationDefinition {
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
    Object.entries(methods as Record<string, OperationDefinition>).map(([method, definition]) => ({
      id: definition.operationId,
      api,
      method: method.toUpperCase(),
      path: root + path,
      scopes: definition['x-required-scopes'] ?? [],
      credentials: (definition.security ?? security).flatMap((scheme) => Object.keys(scheme)),
      parameters: [...shared, ...(definition.parameters ?? [])],
      ...(definition.requestBody && { body: bodyOf(definition.requestBody) }),
      responses: definition.responses,
    })),
  );
}

function bodyOf({ required = false, content }: NonNullable<OperationDefinition['requestBody']>): NonNullable<ContractOperation['body']> {
  const [[mediaType, { examples = {} }] = ['', {}]] = Object.entries(content);
  return { mediaType, required, examples: Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value])) };
}
