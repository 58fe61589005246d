// Shows one API in Swagger UI, which a script before this one has loaded.
const place = document.getElementById('reference');
const spec = await (await fetch(place.dataset.spec)).json();

// What is tried goes to the server that this page came from, by whatever name it was reached.
spec.servers = [{ url: new URL(place.dataset.server, location.href).href, description: 'This service' }];

// Scripts cannot set the session cookie, so the dialog asks for the key alone. Browsers send the cookie by themselves.
delete spec.components.securitySchemes.sessionCookie;
const operations = Object.values(spec.paths).flatMap((path) => Object.values(path));
for (const described of [spec, ...operations]) {
  if (described.security) described.security = described.security.filter((entry) => !('sessionCookie' in entry));
}

// Every answer has these, as the page says above; at each of some hundred answers they would hide what matters.
const everywhere = /^(X-Request-Id|RateLimit|RateLimit-Policy|X-RateLimit-.*)$/;
const answers = operations.flatMap((operation) => Object.values(operation.responses ?? {}));
for (const answer of [...answers, ...Object.values(spec.components.responses ?? {})]) {
  const rest = Object.entries(answer.headers ?? {}).filter(([name]) => !everywhere.test(name));
  if (rest.length > 0) answer.headers = Object.fromEntries(rest);
  else delete answer.headers;
}

// What is optional starts empty, or with its default. An example such as ?favorite=true or If-Match would spoil the first try.
const parameters = Object.values(spec.paths).flatMap((path) => [path, ...Object.values(path)].flatMap((part) => part.parameters ?? []));
for (const parameter of [...parameters, ...Object.values(spec.components.parameters ?? {})]) {
  if (parameter.required) continue;
  delete parameter.example;
  delete parameter.examples;
  delete parameter.schema?.example;
}

// A form starts as its first example, and with nothing else in it.
for (const { requestBody } of operations) {
  const form = requestBody?.content['application/x-www-form-urlencoded'];
  if (!form) continue;
  const { value } = Object.values(form.examples)[0];
  const schema = structuredClone(form.schema.$ref ? spec.components.schemas[form.schema.$ref.split('/').at(-1)] : form.schema);
  for (const [name, field] of Object.entries(schema.properties)) field.example = value[name] ?? '';
  form.schema = schema;
}

delete spec.info.contact; // it leads to these pages

const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

/** Swagger UI sends empty form fields unless told otherwise, and empty means something here: it removes what is stored. */
const leaveEmptyFieldsOut = () => ({
  wrapComponents: {
    ParameterIncludeEmpty:
      (Original, { React }) =>
      (props) =>
        React.createElement(Original, { ...props, isIncludedOptions: { ...props.isIncludedOptions, defaultValue: false } }),
  },
});

globalThis.SwaggerUIBundle({
  domNode: place,
  spec,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  displayRequestDuration: true,
  showExtensions: true,
  plugins: [leaveEmptyFieldsOut],
});
