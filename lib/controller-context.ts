import { Attempt } from '../operators/attempt.js';
import type { ReconcileContext } from '../operators/types.js';
import type { Logger } from './observability/logging/logger.js';

/** What a Controller's reconciler knows about the run it is in. */
export interface ControllerContext extends ReconcileContext {
  /** A logger bound to the id, the attempt and its span; made anew at each reading. */
  readonly logger: Logger;
  /** The term of leadership, if the leader source gives it a number, or of the shard: a fencing token for what is written. */
  readonly term: number | undefined;
  /** The shard of the id, with `config.shards`; the same as `worker`. */
  readonly shard: number | undefined;
}

/** The contexts of one Controller: the engine's, extended by prototype, so that what is not read costs nothing. */
export function controllerContext(
  loggerFor: (run: ReconcileContext) => Logger,
  term: (worker: number) => number | undefined,
  isSharded: boolean,
): typeof Attempt {
  return class extends Attempt implements ControllerContext {
    readonly term = term(this.worker);

    get shard(): number | undefined {
      return isSharded ? this.worker : undefined;
    }

    get logger(): Logger {
      return loggerFor(this);
    }
  };
}
