import { Observable, Subject } from 'rxjs';
import type { Command } from '../../operators/command.js';
import { type ReconcileConfig, reconcileSettings } from '../../operators/config.js';
import { check, checkDelay, checkFunction } from '../../operators/check.js';
import { reconcile } from '../../operators/reconcile.js';
import { reconcileTerms } from '../../operators/reconcile-terms.js';
import { LaneTerm } from '../../operators/tenure.js';
import type { Reconciler, Step, Trigger } from '../../operators/types.js';
import { decode, type Journal } from './journal-format.js';
import { recordedBackoff, recordedHasher } from './recorded-config.js';
import { greatest } from './extremes.js';
import type { RecordedRun } from './recorded-run.js';
import type { RecordedTerm } from './recorded-terms.js';
import { beforeTimers, type Input, recordingOf } from './recording.js';
import { toMarbles } from './to-marbles.js';
import { type Clock, inVirtualTime, type VirtualClock } from './virtual-time.js';

/** For a reconciler that waits for something real. */
const HINT =
  'A `reconciler` that waits must do so by the clock of the replay: `virtualTime((clock) => replay(lines, { clock, reconciler }))`, with `clock.sleep` in the reconciler';

/** How {@link replay} runs. */
export interface ReplayConfig {
  /** Runs instead of what the journal says the runs did. Default: they end as they were recorded. */
  readonly reconciler?: Reconciler | undefined;
  /**
   * What differs from the configuration of the journal. It has no functions: by default ids go to the lanes to which they
   * went, and, without a `reconciler`, retries wait as long as they did, as far as the steps show it: if events brought one
   * forward, nothing says how long it would have waited. A `backoff` without chance in it is best given here, and an `order`
   * must be.
   */
  readonly config?: ReconcileConfig | undefined;
  /** How long to go on after the last line, in ms. Default 0: no more is known of the world after it. */
  readonly further?: number | undefined;
  /** The virtual time to run in, for a `reconciler` that uses it. Default: one of its own. */
  readonly clock?: VirtualClock | undefined;
}

/** What came of it. */
export interface Replay {
  readonly steps: readonly Step[];
  /** The steps as marbles. */
  readonly diagram: string;
}

/**
 * Runs a journal again in virtual time: its events come when they came, and its runs end when and as they ended, or are
 * those of your real reconciler. So an incident becomes a test. Real timers fire late by some ms, those of the replay do
 * not; all else is as it was. Wake-ups happen at the same ticks, as the grid of `delayResolution` stands where it stood.
 *
 * What it knows is what the steps show. Of a stop or the end of a term that is when something was dropped by it; of a command when it
 * was obeyed, not when it was given by an observer of a step; of a discard that had nothing to drop, or a reset that ended nothing but a
 * rest, when the next event need not wait for that rest. What a malformed command was is not known, only that it was one. If timers of two
 * lanes fire in the same ms, which of them was first may change; likewise in which order several runs of a worker are cut off together.
 * An `order` is a function, and has to be given again. That workers are shards is known by their moves, or by their numbers, and a shard
 * that had nothing to drop is let go of right before the next event that it refuses.
 *
 * @param lines - what {@link journal} has recorded, as lines or as one text
 * @throws TypeError (as a rejection) if the journal is of a newer version, was cut in the middle, or is none
 * @example
 * const { diagram } = await replay(await readFile('incident.jsonl', 'utf8'), { reconciler });
 * expect(diagram).toMatchInlineSnapshot();
 */
export async function replay(lines: string | Iterable<string>, config: ReplayConfig = {}): Promise<Replay> {
  const { clock, further = 0, reconciler } = config;
  checkDelay('further', further);
  check('clock', clock, 'the clock of a `virtualTime`', clock === undefined || 'advanceUntil' in clock);
  if (reconciler !== undefined) checkFunction('reconciler', reconciler);
  const journal = decode(lines);
  if (clock === undefined) return inVirtualTime((own) => play(journal, config, own), HINT);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- checked above
  return play(journal, config, clock as Clock);
}

async function play({ config: recorded, steps: before }: Journal, config: ReplayConfig, clock: Clock): Promise<Replay> {
  const { further = 0, reconciler } = config;
  const steps: Step[] = [];
  const settings = { ...recorded, ...config.config };
  const { delayResolution = 250, maxReconcileTime = 10_000, shutdownGrace = 30_000, cooldown = 0, workerCount = 1 } = settings;
  const { runs, inputs, hasTerms } = recordingOf(before, { shutdownGrace, cooldown, delayResolution, workerCount });
  const [begin, end] = [before[0]?.at ?? 0, before.at(-1)?.at ?? 0];
  // Shifted by whole ticks, so that the grid stands where it stood.
  const shift = Math.ceil(clock.now() / delayResolution) * delayResolution - Math.floor(begin / delayResolution) * delayResolution;
  const [events, reset, stop] = [new Subject<Trigger | LaneTerm>(), new Subject<void>(), new Subject<void>()];
  const terms = new ReplayedTerms((term) => {
    events.next(term);
  });
  const commands = new Subject<unknown>();
  let isStopped = false;
  const waiting = inputs.values();
  let next = waiting.next().value;
  const act = (input: Input): void => {
    next = waiting.next().value;
    if ('event' in input) events.next(input.event);
    else if ('run' in input) input.run.end();
    else if ('command' in input) commands.next(input.command);
    else if ('term' in input) terms.next(input.term);
    else if (input.cut === 'reset') reset.next();
    else {
      isStopped = true;
      stop.next();
    }
  };
  const started = new StartedRuns(runs);
  const isBeforeTimers = beforeTimers(before, maxReconcileTime === 0 ? Infinity : maxReconcileTime);
  /** All is as it was when `input` came. A stop that gives no grace sets a timer for its own moment, which must not count. */
  const isTime = ({ index, at }: Input): boolean =>
    reconciler === undefined && steps.length >= index && (isBeforeTimers[index] === true || isStopped || clock.scheduler.next > at + shift);
  /** Does what was done next, if that was done at this very moment, be it by an observer of a step or by a reconciler. */
  const actNow = (): void => {
    if (next?.index === steps.length && next.at + shift <= clock.now() && isTime(next)) act(next);
  };
  const replayed: Reconciler = (id, context) => {
    const run = started.get(id);
    actNow();
    return run === undefined ? new Observable<never>() : run.run(context);
  };
  const loopSettings = reconcileSettings({
    ...(reconciler === undefined ? { backoff: recordedBackoff(before, delayResolution, () => steps.length) } : {}),
    ...(config.config?.workerCount === undefined ? { workerHasher: recordedHasher(before) } : {}),
    ...settings,
    // Of a loop of shards the configuration does not say how many there are.
    ...(hasTerms ? { workerCount: greatest([workerCount, ...before.map(({ worker }) => worker + 1)]) } : {}),
    commands: commands as Subject<Command>,
    reset,
    stop,
    scheduler: clock.scheduler,
  });
  const run = reconciler ?? replayed;
  const loop = (hasTerms ? events.pipe(reconcileTerms(run, loopSettings)) : (events as Subject<Trigger>).pipe(reconcile(run, loopSettings)))
    // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail: neither the events nor the notifiers do
    .subscribe((step) => {
      steps.push(step);
      started.see(step);
      // What is cut off and goes on all the same has been called.
      if (step.kind !== 'started' || started.get(step.id)?.wasAbandoned !== true) actNow();
    });
  while (next !== undefined) {
    const input: Input = next;
    await clock.advanceUntil(input.at + shift, () => next !== input || isTime(input));
    if (next === input) act(input);
  }
  await clock.advanceUntil(end + shift, () => reconciler === undefined && steps.length >= before.length);
  if (further > 0) await clock.advance(Math.max(end + shift + further - clock.now(), 0));
  loop.unsubscribe();
  return { steps, diagram: toMarbles(steps) };
}

/** The terms of workers that have their own, as the replay gives and takes them. */
class ReplayedTerms {
  readonly #held = new Map<number, Subject<'revoked'>>();

  /** @param begin - tells the loop of one */
  constructor(readonly begin: (term: LaneTerm) => void) {}

  next({ worker, what }: RecordedTerm): void {
    const held = this.#held.get(worker);
    if (what === 'begun') {
      const until = new Subject<'revoked'>();
      this.#held.set(worker, until);
      this.begin(new LaneTerm(worker, until));
    } else if (what === 'revoked') {
      held?.next('revoked');
    } else {
      held?.complete();
    }
  }
}

/** The recorded runs, as the replay starts them again. */
class StartedRuns {
  readonly #starts = new Map<string, number>();

  constructor(readonly runs: ReadonlyMap<string, readonly RecordedRun[]>) {}

  see({ id, kind }: Step): void {
    if (kind === 'started') this.#starts.set(id, (this.#starts.get(id) ?? 0) + 1);
  }

  /** The recorded run that `id` is in. One more than were recorded does not end. */
  get(id: string): RecordedRun | undefined {
    return this.runs.get(id)?.[(this.#starts.get(id) ?? 0) - 1];
  }
}
