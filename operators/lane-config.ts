import type { Attempt } from './attempt.js';
import type { Commands } from './commands.js';
import type { ReconcileSettings } from './config.js';
import type { DelayScheduler } from './delay-scheduler.js';
import type { Places } from './places.js';
import type { Trampoline } from './trampoline.js';
import type { Workqueue } from './workqueue.js';

/** What the lanes of one loop share. */
export interface LaneConfig {
  readonly settings: ReconcileSettings;
  /** Where the steps leave. */
  readonly trampoline: Trampoline;
  /** Where the wake-ups are scheduled; its resolution is `settings.delayResolution`. */
  readonly delays: DelayScheduler;
  /** Where its workers take the places in which ids run; `undefined`: there are enough. */
  readonly places: Places | undefined;
  /** Knows what is paused, and tells its lanes of commands. */
  readonly commands: Commands;
  /** Is told that a user's order has broken its rules: the loop must end. */
  readonly broken: (error: Error) => void;
  /** What contexts are made of, if they are to have more: a class that extends it keeps the signal lazy. */
  readonly Context?: typeof Attempt | undefined;
  /** Is told of the lane's workqueue, to look at. */
  readonly inspector?: ((queue: Workqueue) => void) | undefined;
}
