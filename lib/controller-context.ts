import { Attempt } from '../operators/attempt.js';
import type { ReconcileContext } from '../operators/types.js';
import type { Logger } from './observability/logging/logger.js';

/** What a Controller's reconciler knows about the run it is in. */
export interface ControllerContext extends ReconcileContext {
  /** A logger bound to the id, the attempt and its span; made anew at each reading. */
  readonly logger: Logger;
  /** The term of leadership, if the leader source gives it a number: a fencing token for what is written. */
  readonly term: number | undefined;
}

/** The contexts of one Controller: the engine's, extended by prototype, so that what is not read costs nothing. */
export function controllerContext(loggerFor: (run: ReconcileContext) => Logger, term: () => number | undefined): typeof Attempt {
  return class extends Attempt implements ControllerContext {
    readonly term = term();

    get logger(): Logger {
      return loggerFor(this);
    }
  };
}
