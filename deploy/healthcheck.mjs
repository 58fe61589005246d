// Exits with 0 if the process is ready. This is a script because the image has no curl. For a worker, pass the URL of /readyz on
// its metrics port.
const url = process.argv[2] ?? `http://127.0.0.1:${process.env.PORT || 3000}/readyz`;

try {
  const response = await fetch(url, { signal: AbortSignal.timeout(4000) });
  if (response.status !== 200) throw new Error(`returned status ${response.status}: ${await response.text()}`);
} catch (error) {
  console.error(`${url}: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
