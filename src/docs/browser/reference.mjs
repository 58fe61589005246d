// Shows one API in Swagger UI, which the page loads before this script.
const container = document.getElementById('reference');
const spec = await (await fetch(container.dataset.spec)).json();

// "Try it out" sends requests to the server that this page was loaded from, under the host name that the browser used.
spec.servers = [{ url: new URL(container.dataset.server, location.href).href, description: 'This service' }];

// Scripts cannot set the session cookie, so the "Authorize" dialog offers only an API key. Browsers send the cookie automatically.
delete spec.components.securitySchemes.sessionCookie;
const operations = Object.values(spec.paths).flatMap((path) => Object.values(path));
for (const secured of [spec, ...operations]) {
  if (secured.security) secured.security = secured.security.filter((requirement) => !('sessionCookie' in requirement));
}

// Every response has these headers. The page lists them once, at the top, because repeating them would hide the other headers.
const commonHeaders = /^(X-Request-Id|RateLimit|RateLimit-Policy|X-RateLimit-.*)$/;
const responses = operations.flatMap((operation) => Object.values(operation.responses ?? {}));
for (const response of [...responses, ...Object.values(spec.components.responses ?? {})]) {
  const specific = Object.entries(response.headers ?? {}).filter(([name]) => !commonHeaders.test(name));
  if (specific.length > 0) response.headers = Object.fromEntries(specific);
  else delete response.headers;
}

// Optional parameters start empty or with their default. If they started with an example, such as favorite=true or If-Match,
// the first request would return nothing or fail.
const parameters = Object.values(spec.paths).flatMap((path) => [path, ...Object.values(path)].flatMap((part) => part.parameters ?? []));
for (const parameter of [...parameters, ...Object.values(spec.components.parameters ?? {})]) {
  if (parameter.required) continue;
  delete parameter.example;
  delete parameter.examples;
  delete parameter.schema?.example;
}

// A form starts with the values of its first example. All other fields are empty.
for (const { requestBody } of operations) {
  const form = requestBody?.content['application/x-www-form-urlencoded'];
  if (!form) continue;
  const { value } = Object.values(form.examples)[0];
  const schema = structuredClone(form.schema.$ref ? spec.components.schemas[form.schema.$ref.split('/').at(-1)] : form.schema);
  for (const [name, field] of Object.entries(schema.properties)) field.example = value[name] ?? '';
  form.schema = schema;
}

delete spec.info.contact; // It links to these pages.

const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

/** By default, Swagger UI sends empty form fields. In these APIs an empty field removes the stored value, so it must be left out. */
const omitEmptyFields = () => ({
  wrapComponents: {
    ParameterIncludeEmpty:
      (Original, { React }) =>
      (props) =>
        React.createElement(Original, { ...props, isIncludedOptions: { ...props.isIncludedOptions, defaultValue: false } }),
  },
});

globalThis.SwaggerUIBundle({
  domNode: container,
  spec,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  displayRequestDuration: true,
  showExtensions: true,
  plugins: [omitEmptyFields],
});
