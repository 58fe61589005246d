/** At least one named example, and one for each branch of a oneOf. */
export default function requestExamples({ schema, examples }, _options, context) {
  const needed = Math.max(1, schema?.oneOf?.length ?? 0);
  const found = Object.keys(examples ?? {}).length;
  if (found >= needed) return [];
  return [{ message: `The request body has ${found} named examples and needs ${needed} or more.`, path: [...context.path] }];
}
