import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Returns a sequencer that starts the files with these names first, in this order. By default the largest files start first,
 * and a small one that takes long would run alone at the end.
 */
export function slowestFirst(...names: string[]) {
  const rank = ({ moduleId }: TestSpecification) => names.toReversed().indexOf(basename(moduleId, '.test.ts'));
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]) {
      return (await super.sort(files)).toSorted((a, b) => rank(b) - rank(a));
    }
  };
}
