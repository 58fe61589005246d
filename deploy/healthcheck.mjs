// Exits with 0 if the service is ready. This is a script because the image has no curl. For a worker, pass the URL of its metrics.
const { PORT, METRICS_TOKEN } = process.env;
const url = process.argv[2] ?? `http://127.0.0.1:${PORT || 3000}/readyz`;

try {
  const headers = METRICS_TOKEN ? { Authorization: `Bearer ${METRICS_TOKEN}` } : {};
  const { status } = await fetch(url, { headers, signal: AbortSignal.timeout(4000) });
  if (status !== 200) throw new Error(`returned status ${status}`);
} catch (error) {
  console.error(`${url}: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
