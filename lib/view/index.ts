export type {
  Action,
  Answer,
  Asked,
  ChartBucket,
  IdDetails,
  IdPage,
  IdRow,
  Missed,
  Overview,
  Refusal,
  ShardsOverview,
  StateFilter,
  StepMessage,
  WorkerOverview,
} from './api.js';
export { view } from './view.js';
export type { ViewConfig } from './view-config.js';
export type { Viewed } from './viewed.js';
