import {
  BehaviorSubject,
  concat,
  defer,
  EMPTY,
  endWith,
  filter,
  fromEvent,
  identity,
  ignoreElements,
  merge,
  mergeMap,
  NEVER,
  type Observable,
  of,
  startWith,
  Subject,
  take,
  takeUntil,
  tap,
} from 'rxjs';
import type { LaneExtras } from '../operators/lane-config.js';
import { remembering } from '../operators/remembering.js';
import { reconcileWith } from '../operators/reconcile.js';
import { reconcileTerms } from '../operators/reconcile-terms.js';
import type { ReconcileSettings } from '../operators/config.js';
import { checkCommand, type Command } from '../operators/command.js';
import { check, checkFunction, checkId, checkObject, checkSignal } from '../operators/check.js';
import type { Reconciler, Step, Trigger } from '../operators/types.js';
import { whileLeading } from '../operators/while-leading.js';
import { MulticastSubject } from './multicast-subject.js';
import { type Config, type Settings, settings } from './config.js';
import { type ControllerContext, controllerContext } from './controller-context.js';
import { checkEventStreams, type EventStream, eventStream } from './event-stream.js';
import { rememberUntil } from './remember-until.js';
import type { RatesBucket } from './rates.js';
import { Requests } from './requests.js';
import { fromInput } from './from-input.js';
import { SafeObservable } from './safe-observable.js';
import {
  type IdleId,
  inspectAll,
  inspectCounts,
  Inspected,
  type InspectedId,
  inspectId,
  type Inspection,
  type InspectionOfCounts,
} from './inspect.js';
import { type InspectedIds, inspectIds, type InspectIdsConfig } from './inspect-ids.js';
import { Leadership } from './leadership.js';
import { OwnedShards } from './shards/owned-shards.js';
import { safely } from './observability/safely.js';
import { warnOfStandingBy } from './warn-of-standing-by.js';
import type { StreamChange } from './observability/metrics/stream-metrics.js';
import { instrument } from './observability/instrument.js';

/** How {@link Controller.reconcile} is to wait, and what for. */
export interface ReconcileRequest {
  /** Ends the waiting. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the id runs next, past whatever it waits for. Default false. */
  readonly force?: boolean | undefined;
}

/**
 * Runs a reconcile loop over event streams while this process leads, or owns shards. (Go: `Controller`, `New`.)
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
   * Everything that happens, for any number of observers; completes with `run`.
   *
   * An observer that throws is logged as an error, and the loop, the process and the other observers go on. That covers the
   * callbacks given to `steps.subscribe` and `steps.pipe(...).subscribe`, async functions that reject included, and the
   * callbacks of the operators in such a pipe (`map`, `tap`, `finalize` when the steps complete). It does not cover what
   * is built around the steps by other means (`merge(steps, other)`, `new Observable(...)`), nor an `unsubscribe()` of your
   * own whose teardown throws: there the rules of rxjs hold.
   */
  readonly steps: Observable<Step>;
  readonly #settings: Settings;
  readonly #reconciler: Reconciler<ControllerContext>;
  readonly #streams: Readonly<Record<string, EventStream>>;
  readonly #steps: MulticastSubject<Step>;
  /** What `becomeLeader()` and `stepDown()` say. */
  readonly #says = new BehaviorSubject(false);
  readonly #leadership: Leadership;
  readonly #shards: OwnedShards | undefined;
  readonly #completed = new Set<string>();
  readonly #changes = new Subject<StreamChange>();
  readonly #inspected: Inspected;
  readonly #commands = new Subject<Command>();
  /** Those that were given before `run`. */
  readonly #earlyCommands: Command[] = [];
  /** The events of {@link Controller.reconcile}, and who waits for them. */
  readonly #asked = new Subject<Trigger>();
  readonly #requests = new Requests();
  #phase: 'new' | 'running' | 'ended' = 'new';

  constructor(config: Partial<Config>, reconciler: Reconciler<ControllerContext>, streams: Readonly<Record<string, EventStream>>) {
    this.#settings = settings(config);
    checkFunction('reconciler', reconciler);
    checkEventStreams(streams);
    this.#reconciler = reconciler;
    this.#streams = streams;
    const { history, observability } = this.#settings;
    const { logger } = observability;
    this.#inspected = new Inspected(history, this.#settings);
    const tell = safely((error: unknown) => {
      logger.error('An observer of the steps threw', { error });
    });
    this.#steps = new MulticastSubject(tell);
    this.steps = new SafeObservable(this.#steps.values, tell);
    const { leaderElectionEnabled, leader = this.#says, shards } = this.#settings;
    this.#shards = shards && new OwnedShards(shards);
    // Whoever owns a shard leads, as far as streams go.
    this.#leadership = new Leadership(this.#shards?.any ?? (leaderElectionEnabled ? leader : of(true)));
  }

  /**
   * Runs until `signal` aborts, or until all streams are complete and everything has settled. An abort stops in good order:
   * the streams are let go, what runs may finish within `shutdownGrace`, and then leadership is let go.
   *
   * Rejects, after such a stop, if a stream or the leader source fails; the error names it and has the cause. A second run
   * rejects.
   */
  async run(signal?: AbortSignal): Promise<void> {
    checkSignal('signal', signal);
    if (this.#phase !== 'new') throw new Error('This controller has been run already; make a new one');
    this.#phase = 'running';
    const { notes, rates } = this.#inspected;
    const done = this.#loop(aborted(signal)).forEach((step) => {
      notes.enter(step);
      if (rates.isOn) rates.enter(step);
      this.#requests.enter(step);
      this.#steps.next(step);
    });
    const lease = this.#leadership.begin();
    const { leader = this.#shards, leaderElectionEnabled, scheduler, observability } = this.#settings;
    const { logger } = observability;
    lease.add(warnOfStandingBy(this.#leadership, { isManual: leader === undefined, scheduler, logger }));
    if (!leaderElectionEnabled && leader !== undefined && this.#shards === undefined)
      safely((message: string) => {
        logger.warn(message);
      })('This controller leads, whatever its `leader` says, since `leaderElectionEnabled` is false');
    try {
      await done;
    } finally {
      // Only now has the work stopped (L5).
      lease.unsubscribe();
      this.#phase = 'ended';
      this.#requests.end();
      this.#steps.complete();
    }
  }

  /** Says that this process leads. Harmless before `run`, twice, after the end, and ignored if there is `config.leader` or `config.shards`. */
  becomeLeader(): void {
    this.#says.next(true);
  }

  /** Says that this process no longer leads: all work is cut off and dropped, the streams are let go. As harmless. */
  stepDown(): void {
    this.#says.next(false);
  }

  /**
   * Makes `id` right now: an event of its own, without a stream. Resolves when a run that started after it has succeeded (one that asks for
   * `requeueDelay` has); retries are waited for, and so is a pause. Rejects with the error that the id was dropped or rejected
   * with, or with one that names the reason; at once if this process does not run, does not lead, does not own the shard of `id`, or is at its end.
   * Not to be awaited in a reconciler: its run is over only then, and until then it holds up the ids behind it, and always its own.
   *
   * @param request.signal - ends the waiting, and nothing else; then it rejects with `signal.reason`
   * @param request.force - it runs next, whatever stands in the way but another run of the id; see `Trigger.force`
   * @throws TypeError if an argument is unusable, as a rejection
   * @example
   * app.put('/zones/:id', async (request) => {
   *   await save(request.params.id, request.body);
   *   await controller.reconcile(request.params.id, { signal: AbortSignal.timeout(10_000) });
   * });
   */
  async reconcile(id: string, request: ReconcileRequest = {}): Promise<void> {
    checkId('id', id);
    checkObject('request', request);
    const { signal, force = false } = request;
    checkSignal('signal', signal);
    check('force', force, 'a boolean', typeof force === 'boolean');
    await this.#requests.wait(force ? { id, force } : { id }, signal, (trigger) => {
      const obstacle = this.#obstacleTo(id);
      if (obstacle !== undefined) throw new Error(`\`${id}\` is not reconciled: this controller ${obstacle}`);
      this.#asked.next(trigger);
    });
  }

  /**
   * Pauses `id`, or without one the whole loop: what runs may end, nothing starts, and what comes meanwhile is remembered. The pause
   * of the loop and that of an id are two. It outlives terms, and belongs to this process: a lasting one comes through
   * `config.commands` from a store that all replicas hear. Harmless before `run` (it counts from the start), twice, or after the end.
   *
   * @param why - for the step, the log, and `inspect()`
   * @throws TypeError if an argument is unusable
   * @example
   * controller.pause('web', 'moving house');
   */
  pause(id?: string, why?: string): void {
    this.#command({ kind: 'pause', id, why });
  }

  /**
   * Lifts the pause of `id`, or without one that of the whole loop; what came or fell due meanwhile is ready at once.
   *
   * @throws TypeError if `id` is no non-empty string
   */
  resume(id?: string): void {
    this.#command({ kind: 'resume', id });
  }

  /**
   * Forgets what `id` has to do: its retries, its wake-up and what came for it. A run that is on goes on. A pause stays.
   *
   * @throws TypeError if `id` is no non-empty string
   */
  discard(id: string): void {
    this.#command({ kind: 'discard', id });
  }

  /** Its configuration, checked and whole. */
  get config(): ReconcileSettings & Config {
    return this.#settings;
  }

  /**
   * What is ready, running, waiting and abandoned just now, and whether this process leads. With very many ids in it that takes a while,
   * in which the loop stands: `{ ids: false }` only counts, and {@link inspectIds} goes through them page by page.
   *
   * @throws TypeError if an argument is unusable
   */
  inspect(config?: { readonly ids?: true }): Inspection;
  inspect(config: { readonly ids: boolean }): InspectionOfCounts;
  inspect(config: { readonly ids?: boolean } = {}): Inspection | InspectionOfCounts {
    checkObject('config', config);
    const { ids = true } = config;
    check('ids', ids, 'a boolean', typeof ids === 'boolean');
    const { pauses } = this.#inspected.notes;
    return {
      ...inspectCounts(this.#leadership.term, this.#inspected, [...this.#completed], this.#shards),
      ...(ids
        ? { ids: inspectAll(this.#inspected), ...(pauses.size > 0 && { pausedIds: Object.fromEntries(pauses) }) }
        : { pausedIds: pauses.size }),
    };
  }

  /** What one id is doing, and what it has done; nothing if it is idle, not paused, and forgotten. */
  inspectId(id: string): InspectedId | IdleId | undefined {
    checkId('id', id);
    return inspectId(id, this.#inspected);
  }

  /**
   * A page of ids by name, by state, and by what is in them, with the number of all that match. It looks at all ids, but the loop goes on
   * meanwhile.
   *
   * @throws TypeError if an argument is unusable, as a rejection
   * @example
   * let cursor: string | undefined;
   * do {
   *   const { ids, next } = await controller.inspectIds({ state: 'failing', cursor });
   *   for (const { id, history } of ids) console.log(id, history.at(-1));
   *   cursor = next;
   * } while (cursor !== undefined);
   */
  inspectIds(config: InspectIdsConfig = {}): Promise<InspectedIds> {
    return inspectIds(config, this.#inspected);
  }

  /**
   * What happened in the last ten minutes, by times of five seconds, oldest first, and how many steps there were in all of that. It is
   * counted from the first call on, until nobody has asked for a minute; so whoever wants it asks more often.
   */
  rates(): { readonly steps: number; readonly buckets: readonly RatesBucket[] } {
    const { rates } = this.#inspected;
    const buckets = rates.look(this.#settings.scheduler.now());
    return { steps: rates.steps, buckets };
  }

  /** Why no event for `id` is taken, if none is. */
  #obstacleTo(id: string): string | undefined {
    if (this.#phase !== 'running') return 'does not run';
    if (this.#shards?.owns(id) === false) return 'does not own its shard';
    if (this.#leadership.term === undefined) return 'does not lead';
    return this.#asked.observed ? undefined : 'takes nothing in any more: it stops, or all of its streams have completed';
  }

  #command(command: Command): void {
    checkCommand(command);
    if (this.#commands.observed) this.#commands.next(command);
    else if (this.#phase === 'new') this.#earlyCommands.push(command);
  }

  /** One loop lives over all terms, with the streams gated in front of it, so that an id stays serial across them (L7). */
  #loop(stop: Observable<unknown>): Observable<Step> {
    const { leads, lost } = this.#leadership;
    const shards = this.#shards;
    const settings = {
      ...this.#settings,
      // The end of a shard's term is its own.
      reset: merge(shards === undefined ? lost : EMPTY, fromInput(this.#settings.reset)),
      stop: merge(stop, fromInput(this.#settings.stop)),
      commands: merge(
        this.#commands,
        defer(() => this.#earlyCommands.splice(0)),
        fromInput(this.#settings.commands),
      ),
    };
    const telemetry = instrument(settings.observability, {
      ...settings,
      ...(shards === undefined && { leading: leads }),
      shards: shards?.changes,
      streams: this.#changes,
    });
    const context: LaneExtras = {
      Context: controllerContext(
        telemetry.loggerFor,
        (worker) => (shards === undefined ? this.#leadership.term?.term : shards.termOf(worker)),
        shards !== undefined,
      ),
      inspector: (queue) => this.#inspected.queues.push(queue),
      // Nothing comes in once all is dropped, and nothing starts by what the teardown of a stream does (L2).
      letGo: () => {
        this.#leadership.letGo();
      },
      ...(this.#inspected.history !== undefined && { Queue: remembering(this.#inspected.history) }),
    };
    const events = concat(this.#events(), this.#settled()).pipe(
      whileLeading(this.#settings.standby === 'warm' ? anewAfterLosses(leads) : leads),
      tap({
        complete: () => {
          this.#asked.complete();
        },
      }),
    );
    const reconciler = telemetry.traced(this.#reconciler) as Reconciler;
    const steps =
      shards === undefined
        ? merge(this.#asked, events).pipe(reconcileWith(reconciler, settings, context))
        : // In this order: membership ends first (H10).
          merge(shards.terms.pipe(takeUntil(ended(this.#asked))), this.#asked, events).pipe(reconcileTerms(reconciler, settings, context));
    return steps.pipe(telemetry.steps);
  }

  /** What the streams say, until all of them are complete. */
  #events(): Observable<Trigger> {
    const names = Object.keys(this.#streams);
    const { observability, standby, workerCount, workerQueueSize } = this.#settings;
    const { logger } = observability;
    const held = standby === 'warm' ? rememberUntil(this.#leadership.leads, workerCount * workerQueueSize) : identity;
    const completed = safely((name: string) => {
      this.#completed.add(name);
      const live = names.length - this.#completed.size;
      if (live > 0) logger.info('An event stream has completed, others go on', { stream: name, live });
    });
    return defer(() => {
      this.#completed.clear();
      return merge(
        ...Object.entries(this.#streams).map(([name, stream]) =>
          eventStream(name, stream, this.#shards).pipe(
            tap({
              subscribe: () => {
                this.#changes.next({ stream: name, isUp: true });
              },
              complete: () => {
                completed(name);
              },
              finalize: () => {
                this.#changes.next({ stream: name, isUp: false });
              },
            }),
            held,
          ),
        ),
      );
    });
  }

  /** Completes once nothing is ready, running or waiting: until then, losing the lead must bring the streams back (L3). */
  #settled(): Observable<never> {
    return this.#steps.values.pipe(
      startWith(undefined),
      filter(() => this.#inspected.queues.every(({ size, abandoned, resting }) => size === abandoned + resting)),
      take(1),
      ignoreElements(),
    );
  }
}

function aborted(signal: AbortSignal | undefined): Observable<unknown> {
  if (signal === undefined) return NEVER;
  return signal.aborted ? of(signal) : fromEvent(signal, 'abort');
}

/** Emits when `source` completes. */
function ended(source: Observable<unknown>): Observable<unknown> {
  return source.pipe(ignoreElements(), endWith(undefined));
}

/** For {@link whileLeading}: the streams of a warm standby begin at once and anew after each loss, and end with the loss. */
function anewAfterLosses(leads: Observable<boolean>): Observable<boolean> {
  return leads.pipe(
    filter((now) => !now),
    mergeMap(() => [false, true]),
  );
}
