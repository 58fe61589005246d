// What the contract declares, as cases that can be tried: each operation, each of its statuses, each named example.
import { type ContractOperation, operations } from '../../support/contract-operations.ts';

export interface Case {
  operation: ContractOperation;
  status: number;
  /** Counts the cases of one operation and status. */
  index: number;
  /** The named example that the answer must be like. */
  answer?: { name: string; value: Record<string, unknown> };
  /** The named example that is sent; without it, the first. */
  sends?: string;
}

export const cases: Case[] = Object.values(operations).flatMap((operation) =>
  Object.keys(operation.responses).flatMap((status) => casesOfStatus(operation, Number(status))),
);

export function titleOf({ operation, status, index, answer, sends }: Case): string {
  return [operation.id, status, answer?.name ?? (index > 0 && sends)].filter(Boolean).join(' ');
}

/** As many as there are examples of answers, and where it succeeds at least as many as there are examples of requests. */
function casesOfStatus(operation: ContractOperation, status: number): Case[] {
  const answers = Object.entries(Object.values(operation.responses[status]?.content ?? {})[0]?.examples ?? {});
  const requests = status < 300 ? Object.keys(operation.body?.examples ?? {}) : [];
  return Array.from({ length: Math.max(1, answers.length, requests.length) }, (_, index) => {
    const [name, example] = answers[index] ?? [];
    const sends = name !== undefined && requests.includes(name) ? name : requests[index];
    return {
      operation,
      status,
      index,
      ...(name !== undefined && { answer: { name, value: example?.value as Record<string, unknown> } }),
      ...(sends !== undefined && { sends }),
    };
  });
}
