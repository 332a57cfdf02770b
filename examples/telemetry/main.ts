/**
 * The supervisor with telemetry: nothing in it changes, for the library asks for the registered SDK when the loop starts.
 * It takes the supervisor's options. Metrics are at http://localhost:9464/metrics (or PROMETHEUS_PORT), spans go to stderr;
 * dashboard.json is for Grafana, alerts.yml for Prometheus.
 */
import { startTelemetry } from './sdk.js';

const port = Number(process.env['PROMETHEUS_PORT'] ?? 9464);
const stop = await startTelemetry(port, (line) => {
  console.error(line);
});
await import('../supervisor/main.js');
await stop();
