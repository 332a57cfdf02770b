import type { Attempt } from './attempt.js';
import type { Commands } from './commands.js';
import type { ReconcileSettings } from './config.js';
import type { DelayScheduler } from './delay-scheduler.js';
import type { Places } from './places.js';
import type { Trampoline } from './trampoline.js';
import type { Workqueue } from './workqueue.js';

/** What only a Controller and the tests ask of a loop. */
export interface LaneExtras {
  /** What contexts are made of, if they are to have more: a class that extends it keeps the signal lazy. */
  readonly Context?: typeof Attempt | undefined;
  /** Is given the workqueue of each lane, to look at. */
  readonly inspector?: ((queue: Workqueue) => void) | undefined;
  /** Called first of all when a reset is heard, as long as nothing can start: what feeds the loop is to be let go of. */
  readonly letGo?: (() => void) | undefined;
  /** What the workqueues are made of, if they are to do more. */
  readonly Queue?: typeof Workqueue | undefined;
}

/** What the lanes of one loop share. */
export interface LaneConfig extends LaneExtras {
  readonly settings: ReconcileSettings;
  /** Where the steps leave. */
  readonly trampoline: Trampoline;
  /** Where the wake-ups are scheduled; its resolution is `settings.delayResolution`. */
  readonly delays: DelayScheduler;
  /** Where its workers take the places in which ids run; `undefined`: there are enough. */
  readonly places: Places | undefined;
  /** Knows what is paused, and passes commands on to the lanes. */
  readonly commands: Commands;
  /** Ends the loop: a user's order has broken its rules. */
  readonly broken: (error: Error) => void;
}
