/** The example of a problem has the status of its response, and a type that ends with its code. */
export default function problemExample({ value }, _options, context) {
  const path = [...context.path, 'value'];
  const status = path[path.indexOf('responses') + 1];
  const results = [];
  if (String(value?.status) !== String(status)) {
    results.push({ message: `The example of a ${status} has the status ${value?.status}.`, path: [...path, 'status'] });
  }
  if (!value?.code || !String(value.type).endsWith(`/${value.code}`)) {
    results.push({ message: `The type of the example does not end with its code "${value?.code}".`, path: [...path, 'type'] });
  }
  return results;
}
