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

const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

globalThis.SwaggerUIBundle({
  domNode: place,
  spec,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  displayRequestDuration: true,
  showExtensions: true,
});
