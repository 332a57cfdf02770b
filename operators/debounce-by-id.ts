import { asyncScheduler, Observable, type OperatorFunction, type SchedulerLike, Subject, type Subscription, takeUntil } from 'rxjs';
import { after } from './after.js';
import { checkDelay, checkDuration, checkObject, checkScheduler } from './check.js';
import { copied, merged } from './trigger.js';
import type { Trigger } from './types.js';

/** How {@link debounceById} waits. */
export interface DebounceByIdConfig {
  /** How long no further event of an id must come before its last one passes, in ms; finite and >= 0. */
  readonly dueTime: number;
  /** After how long, in ms, since the first event of an id one passes all the same. Default Infinity: never, as `debounceTime` has it. */
  readonly maxWait?: number | undefined;
  /** The only source of time. Default `asyncScheduler`; a {@link DelayScheduler} shares timers between ids, and rounds up to its grid. */
  readonly scheduler?: SchedulerLike | undefined;
}

/**
 * RxJS's `debounceTime`, for each id by itself: the last event of an id passes once `dueTime` ms have gone by without another one.
 * It stands in front of a loop, which merges bursts by itself: it is there to wait until a burst is over.
 *
 * What passes has the highest priority of the events it stands for; these are its `absorbed`, so that `acknowledge` answers their messages
 * and traces link to them. A forced event passes at once, and takes those of its id that wait with it. What is no event passes at once, for the
 * loop to reject.
 *
 * Remembers the ids that wait, and nothing else. When the source completes, those pass in the order in which their first events came, and then
 * the output completes; an error of the source passes at once.
 *
 * @throws TypeError if a field is out of its range; the message names it
 * @example
 * changes$.pipe(debounceById({ dueTime: 100, maxWait: 1000 }), reconcile(reconciler));
 */
export function debounceById(config: DebounceByIdConfig): OperatorFunction<string | Trigger, Trigger> {
  checkObject('config', config);
  const { dueTime, maxWait = Infinity, scheduler = asyncScheduler } = config;
  checkDelay('dueTime', dueTime);
  checkDuration('maxWait', maxWait);
  checkScheduler('scheduler', scheduler);
  return (source) =>
    // Made by hand: `groupBy` with a debounced group for each id would lose what comes while a group ends.
    new Observable((subscriber) => {
      const unsubscribed = new Subject<void>();
      const bursts = new Map<string, Burst>();
      const pass = (id: string): void => {
        const burst = bursts.get(id);
        if (burst === undefined) return;
        // First: whoever hears of it may send the next one.
        bursts.delete(id);
        burst.end();
        subscriber.next(burst.passing());
      };
      subscriber.add(() => {
        unsubscribed.next();
        for (const burst of bursts.values()) burst.end();
        bursts.clear();
      });
      // Not by the subscription: a source that emits at once has not returned one yet.
      source.pipe(takeUntil(unsubscribed)).subscribe({
        next: (event) => {
          const trigger = triggerOf(event);
          if (trigger === undefined) {
            subscriber.next(event as Trigger);
            return;
          }
          const { id } = trigger;
          const known = bursts.get(id);
          const burst = known ?? new Burst(() => pass(id));
          if (known === undefined) bursts.set(id, burst);
          burst.add(trigger);
          if (trigger.force === true) {
            pass(id);
            return;
          }
          if (known === undefined) burst.waitAtMost(after(maxWait, scheduler));
          // Some schedulers do at once what has no delay.
          if (bursts.get(id) === burst) burst.wait(after(dueTime, scheduler));
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
        complete: () => {
          for (const id of [...bursts.keys()]) pass(id);
          subscriber.complete();
        },
      });
    });
}

/** The events of one id that wait. */
class Burst {
  readonly #triggers: Trigger[] = [];
  #patience: Subscription | undefined;
  #pause: Subscription | undefined;

  constructor(readonly due: () => void) {}

  add(trigger: Trigger): void {
    this.#triggers.push(trigger);
  }

  waitAtMost(patience: Observable<0>): void {
    // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
    this.#patience = patience.subscribe(() => {
      this.due();
    });
  }

  /** Anew with each event: no clock is compared, so one that is set changes nothing. */
  wait(pause: Observable<0>): void {
    this.#pause?.unsubscribe();
    // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
    this.#pause = pause.subscribe(() => {
      this.due();
    });
  }

  end(): void {
    this.#patience?.unsubscribe();
    this.#pause?.unsubscribe();
  }

  passing(): Trigger {
    const last = this.#triggers.at(-1) as Trigger;
    return this.#triggers.length === 1 ? last : merged(this.#triggers.slice(0, -1), last);
  }
}

/** What is an event. */
function triggerOf(event: string | Trigger): Trigger | undefined {
  if (typeof event === 'string') return event === '' ? undefined : { id: event };
  try {
    const trigger = copied(event);
    const { id } = trigger as { readonly id: unknown };
    return typeof id === 'string' && id !== '' ? trigger : undefined;
  } catch {
    return undefined;
  }
}
