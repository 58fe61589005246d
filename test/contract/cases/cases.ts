// The test cases that the contract declares: each operation, each of its statuses, each named example.
import { type ContractOperation, operations } from '../../support/contract-operations.ts';

export interface Case {
  operation: ContractOperation;
  status: number;
  /** The position among the cases of the same operation and status. */
  index: number;
  /** The named example that the response must correspond to. */
  responseExample?: { name: string; value: Record<string, unknown> };
  /** The named example that is sent as the body. The default is the first one. */
  requestExample?: string;
}

export const cases: Case[] = Object.values(operations).flatMap((operation) =>
  Object.keys(operation.responses).flatMap((status) => casesOfStatus(operation, Number(status))),
);

/** Dredd reads one example of each response and of each body, the first one. It runs these cases (npm run contract). */
export const casesOfDredd = cases.filter(({ index }) => index === 0);

/** Our own runner runs the rest (npm run contract:cases). */
export const casesBeyondDredd = cases.filter(({ index }) => index > 0);

export function titleOf({ operation, status, index, responseExample, requestExample }: Case): string {
  return [operation.id, status, responseExample?.name ?? (index > 0 && requestExample)].filter(Boolean).join(' ');
}

/** Returns one case per example of the response. A successful status also has at least one case per example of the request. */
function casesOfStatus(operation: ContractOperation, status: number): Case[] {
  const responseExamples = Object.entries(Object.values(operation.responses[status]?.content ?? {})[0]?.examples ?? {});
  const requestExamples = status < 300 ? Object.keys(operation.body?.examples ?? {}) : [];
  return Array.from({ length: Math.max(1, responseExamples.length, requestExamples.length) }, (_, index) => {
    const [name, example] = responseExamples[index] ?? [];
    const requestExample = name !== undefined && requestExamples.includes(name) ? name : requestExamples[index];
    return {
      operation,
      status,
      index,
      ...(name !== undefined && { responseExample: { name, value: example?.value as Record<string, unknown> } }),
      ...(requestExample !== undefined && { requestExample }),
    };
  });
}
