import {
  BehaviorSubject,
  concat,
  filter,
  fromEvent,
  ignoreElements,
  map,
  merge,
  NEVER,
  Observable,
  of,
  ReplaySubject,
  startWith,
  Subject,
  take,
  tap,
} from 'rxjs';
import { reconcileWith } from '../operators/reconcile.js';
import { callable } from '../operators/config.js';
import { expected } from '../operators/expected.js';
import type { Reconciler, Step, Trigger } from '../operators/types.js';
import { whileLeading } from '../operators/while-leading.js';
import type { Workqueue } from '../operators/workqueue.js';
import { MulticastSubject } from './multicast-subject.js';
import { type Config, type Settings, settings } from './config.js';
import { type ControllerContext, controllerContext } from './controller-context.js';
import { checkEventStreams, type EventStream, eventStream } from './event-stream.js';
import { SafeObservable } from './safe-observable.js';
import { inspect, type Inspection } from './inspect.js';
import { type Leading, leading } from './leading.js';
import { safely } from './observability/safely.js';
import { instrument } from './observability/instrument.js';

/**
 * Runs a reconcile loop over event streams while this process leads. (Go: `Controller`, `New`.)
 *
 * @throws TypeError if the configuration, the reconciler or a stream is unusable; the message names the field
 * @example
 * const controller = new Controller({ leaderElectionEnabled: false }, async (id) => { await makeRight(id); }, {
 *   changes: changes$,
 *   resync: resync({ every: 60_000, list }),
 * });
 * const stop = new AbortController();
 * process.once('SIGTERM', () => { stop.abort(); });
 * await controller.run(stop.signal);
 */
export class Controller {
  /**
   * Everything that happens, for any number of observers; completes with `run`. An observer that throws is logged, and hurts
   * neither the loop nor the process.
   */
  readonly steps: Observable<Step>;
  readonly #settings: Settings;
  readonly #reconciler: Reconciler<ControllerContext>;
  readonly #streams: Readonly<Record<string, EventStream>>;
  readonly #steps = new MulticastSubject<Step>();
  readonly #leads = new BehaviorSubject(false);
  readonly #queues: Workqueue[] = [];
  #leading: Leading = false;
  #hasRun = false;

  constructor(config: Partial<Config>, reconciler: Reconciler<ControllerContext>, streams: Readonly<Record<string, EventStream>>) {
    this.#settings = settings(config);
    callable('reconciler', reconciler);
    checkEventStreams(streams);
    this.#reconciler = reconciler;
    this.#streams = streams;
    const { logger } = this.#settings.observability;
    const tell = safely((error: unknown) => {
      logger.error('An observer of the steps threw', { error });
    });
    this.steps = new SafeObservable(this.#steps.values, tell);
  }

  /**
   * Runs until `signal` aborts, or until all streams are complete and everything has settled. An abort stops in good order:
   * the streams are let go, what runs may finish within `shutdownGrace`, and then leadership is let go.
   *
   * Rejects, after such a stop, if a stream or the leader source fails; the error names it and has the cause. A second run
   * rejects.
   */
  async run(signal?: AbortSignal): Promise<void> {
    checkSignal(signal);
    if (this.#hasRun) throw new Error('This controller has been run already; make a new one');
    this.#hasRun = true;
    const { leaderElectionEnabled, leader } = this.#settings;
    const leads = new ReplaySubject<Leading>(1);
    const lost = new Subject<void>();
    const done = this.#loop(leads, lost, aborted(signal)).forEach((step) => {
      this.#steps.next(step);
    });
    // After the loop has: on loss the streams are let go first, so that nothing comes in once all is dropped (L2).
    const terms = leads.subscribe({
      next: (now) => {
        if (now === false) lost.next();
      },
      // The gate hears it as well, and it ends the loop.
      error: () => undefined,
    });
    const lease = leading(leaderElectionEnabled ? (leader ?? this.#leads) : of(true))
      .pipe(
        tap((now) => {
          this.#leading = now;
        }),
      )
      .subscribe(leads);
    try {
      await done;
    } finally {
      // Only now has the work stopped (L5).
      lease.unsubscribe();
      terms.unsubscribe();
      this.#leading = false;
      this.#steps.complete();
    }
  }

  /** Says that this process leads. Harmless before `run`, twice, after the end, and ignored if there is `config.leader`. */
  becomeLeader(): void {
    this.#leads.next(true);
  }

  /** Says that this process no longer leads: all work is cut off and dropped, the streams are let go. As harmless. */
  stepDown(): void {
    this.#leads.next(false);
  }

  /** What is ready, running, waiting and abandoned just now, and whether this process leads. */
  inspect(): Inspection {
    return inspect(this.#leading !== false, this.#queues);
  }

  /** One loop lives over all terms, with the streams gated in front of it, so that an id stays serial across them (L7). */
  #loop(leads: Observable<Leading>, reset: Observable<void>, stop: Observable<unknown>): Observable<Step> {
    const isLeading = leads.pipe(map((now) => now !== false));
    const settings = { ...this.#settings, reset: merge(reset, this.#settings.reset), stop: merge(stop, this.#settings.stop) };
    const telemetry = instrument(settings.observability, { ...settings, leading: isLeading });
    return this.#events(isLeading).pipe(
      reconcileWith(telemetry.traced(this.#reconciler) as Reconciler, settings, {
        Context: controllerContext(telemetry.loggerFor, () => (this.#leading === false ? undefined : this.#leading.term)),
        inspector: (queue) => this.#queues.push(queue),
      }),
      telemetry.steps,
    );
  }

  /** What the streams say while this process leads; ends with them, once everything has settled. */
  #events(isLeading: Observable<boolean>): Observable<Trigger> {
    // Made by hand: what begins and ends goes through these operators, and events past them; the way would cost more than the run.
    return new Observable((events) => {
      const streams = Object.entries(this.#streams).map(([name, stream]) => eventStream(name, stream, events));
      return concat(merge(...streams), this.#settled())
        .pipe(whileLeading(isLeading))
        .subscribe(events);
    });
  }

  /** Completes once nothing is ready, running or waiting: until then, losing the lead must bring the streams back (L3). */
  #settled(): Observable<never> {
    return this.#steps.values.pipe(
      startWith(undefined),
      filter(() => this.#queues.every(({ size, abandoned }) => size === abandoned)),
      take(1),
      ignoreElements(),
    );
  }
}

function checkSignal(signal: AbortSignal | undefined): void {
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  const isSignal = typeof aborted === 'boolean' && typeof addEventListener === 'function';
  expected('signal', signal, 'an AbortSignal', signal === undefined || isSignal);
}

function aborted(signal: AbortSignal | undefined): Observable<unknown> {
  if (signal === undefined) return NEVER;
  return signal.aborted ? of(signal) : fromEvent(signal, 'abort');
}
