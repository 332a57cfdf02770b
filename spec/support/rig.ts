/* eslint-disable rxjs-x/no-exposed-subjects -- they are there for tests to turn */
import {
  type ReconcileConfig,
  type Reconciler,
  type ReconcileSettings,
  reconcileSettings,
  type Step,
  type Trigger,
} from 'kreconciler/operators';
import type { Workqueue } from '../../operators/workqueue.js';
import { type Observable, Subject, type Subscription } from 'rxjs';
import { reconcileWith } from '../../operators/reconcile.js';
import { Clock } from './clock.js';

/** A loop on a test bench: subscribed, in virtual time, with a tap for all that goes in and a gauge for all that comes out. */
export class Rig {
  /** The one made last, for reconcilers in a table. */
  static current: Rig;

  readonly clock = new Clock();
  readonly events = new Subject<string | Trigger>();
  readonly stop = new Subject<void>();
  readonly reset = new Subject<void>();
  readonly steps: Step[] = [];
  readonly queues: Workqueue[] = [];
  readonly settings: ReconcileSettings;
  readonly subscription: Subscription;
  end: 'completed' | { readonly error: unknown } | undefined;

  /** @param onStep - an observer of the steps that may talk back */
  constructor(
    reconciler: Reconciler,
    config: ReconcileConfig = {},
    onStep: (step: Step, rig: Rig) => void = () => {},
    source?: Observable<string | Trigger>,
  ) {
    Rig.current = this;
    const { clock: scheduler, stop, reset } = this;
    this.settings = reconcileSettings({ scheduler, stop, reset, delayResolution: 10, backoff: () => 10, ...config });
    this.subscription = (source ?? this.events)
      .pipe(reconcileWith(reconciler, this.settings, { inspector: (queue) => this.queues.push(queue) }))
      .subscribe({
        next: (step) => {
          this.steps.push(step);
          onStep(step, this);
        },
        error: (error: unknown) => {
          this.end = { error };
        },
        complete: () => {
          this.end = 'completed';
        },
      });
  }

  trigger(...ids: readonly string[]): void {
    for (const id of ids) this.events.next(id);
  }

  /** The steps so far in words, `dropped a retries`, of the given kinds or all. */
  told(...kinds: readonly Step['kind'][]): string[] {
    return this.steps.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind)).map(inWords);
  }

  /** When the runs of an id started. */
  starts(id = 'a'): number[] {
    return this.steps.filter((step) => step.id === id && step.kind === 'started').map(({ at }) => at);
  }

  /** What the loop still knows of ids, and the timers it has: nothing, once it is at rest (B3). */
  get left(): { ids: number; timers: number } {
    return { ids: this.queues.reduce((sum, { size }) => sum + size, 0), timers: this.clock.timers };
  }
}

export const NOTHING_LEFT = { ids: 0, timers: 0 };

export function inWords(step: Step): string {
  const why = step.kind === 'dropped' || step.kind === 'rejected' ? ` ${step.reason}` : '';
  return `${step.kind} ${step.id}${why}`;
}
