/** A request body has at least one named example, and at least one per branch of a oneOf. */
export default function requestExamples({ schema, examples }, _options, context) {
  const needed = Math.max(1, schema?.oneOf?.length ?? 0);
  const found = Object.keys(examples ?? {}).length;
  if (found >= needed) return [];
  return [{ message: `The request body has ${found} named examples but needs at least ${needed}.`, path: [...context.path] }];
}
