export { consoleLogger } from './console-logger.js';
export { type LogFields, type Logger, noopLogger } from './logger.js';
export { defaultObservability, type Observability, observability } from './observability/observability.js';
