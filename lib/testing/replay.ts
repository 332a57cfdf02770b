import { Observable, ReplaySubject, Subject } from 'rxjs';
import type { ReconcileConfig } from '../../operators/config.js';
import { isDelay } from '../../operators/errors.js';
import { expected } from '../../operators/expected.js';
import { reconcile } from '../../operators/reconcile.js';
import type { Reconciler, Result, Step, Trigger } from '../../operators/types.js';
import { decode } from './journal-format.js';
import { toMarbles } from './to-marbles.js';
import { type VirtualClock, virtualTime } from './virtual-time.js';

/** How {@link replay} runs. */
export interface ReplayConfig {
  /** Runs instead of what the journal says the runs did. Default: they end as they were recorded. */
  readonly reconciler?: Reconciler | undefined;
  /** What differs from the configuration of the journal: hashers and backoffs, for instance, which it cannot hold. */
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

/** What the world did to the loop, in the order in which it did. */
type Input = { readonly at: number } & ({ readonly event: Trigger } | { readonly run: RecordedRun } | { readonly cut: 'reset' | 'stop' });

/**
 * Runs a journal again in virtual time: its events come when they came, and its runs end when and as they ended, or are
 * those of your real reconciler. So an incident becomes a test. Real timers fire late by some ms, those of the replay do
 * not; all else is as it was. Wake-ups happen at the same ticks, as the grid of `delayResolution` stands where it stood.
 *
 * @param lines - what {@link journal} has recorded, as lines or as one text
 * @throws TypeError (as a rejection) if the journal is of a newer version, was cut in the middle, or is none
 * @example
 * const { diagram } = await replay(await readFile('incident.jsonl', 'utf8'), { reconciler });
 * expect(diagram).toMatchInlineSnapshot();
 */
export async function replay(lines: string | Iterable<string>, config: ReplayConfig = {}): Promise<Replay> {
  const { clock, further = 0 } = config;
  expected('further', further, 'a finite number of ms >= 0', isDelay(further));
  const journal = decode(lines);
  const { runs, inputs, end } = inputsOf(journal.steps);
  const settings = { ...journal.config, ...config.config };
  const { delayResolution = 250 } = settings;
  const play = async (clock: VirtualClock): Promise<Replay> => {
    const begin = inputs[0]?.at ?? 0;
    // Shifted by whole ticks, so that the grid stands where it stood.
    const shift = Math.ceil(clock.now() / delayResolution) * delayResolution - Math.floor(begin / delayResolution) * delayResolution;
    const advanceTo = (at: number): Promise<void> => clock.advance(Math.max(at + shift - clock.now(), 0));
    const steps: Step[] = [];
    const [events, reset, stop] = [new Subject<Trigger>(), new Subject<void>(), new Subject<void>()];
    const loop = events
      .pipe(reconcile(config.reconciler ?? recorded(runs), { ...settings, reset, stop, scheduler: clock.scheduler }))
      // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail: neither the events nor the notifiers do
      .subscribe((step) => steps.push(step));
    for (const input of inputs) {
      await advanceTo(input.at);
      if ('event' in input) events.next(input.event);
      else if ('cut' in input) (input.cut === 'reset' ? reset : stop).next();
      else input.run.end();
    }
    await advanceTo(end + further);
    loop.unsubscribe();
    return { steps, diagram: toMarbles(steps) };
  };
  return clock === undefined ? virtualTime(play) : play(clock);
}

/** A run as it was recorded. The replayed run ends when {@link RecordedRun.end} is called, or at once if that was before it. */
class RecordedRun {
  /** The step that ended it; none if it was still running. */
  outcome: Step | undefined;
  /** It outlived its timeout, as only a promise does. */
  wasAbandoned = false;
  readonly #settled = new ReplaySubject<Result>(1);

  end(): void {
    const { outcome } = this;
    const failure = outcome?.kind === 'requeued' || outcome?.kind === 'dropped' ? outcome.failure : undefined;
    const error = outcome !== undefined && 'error' in outcome ? outcome.error : undefined;
    if (failure === 'thrown') {
      this.#settled.error(error);
      return;
    }
    if (failure === 'reported') this.#settled.next({ error });
    // An odd answer, as theirs was.
    else if (failure === 'invalid') this.#settled.next({ requeueDelay: NaN });
    else if (outcome?.kind === 'requeued') this.#settled.next({ requeueDelay: outcome.delay });
    this.#settled.complete();
  }

  run(): Observable<Result> | Promise<Result | void> {
    if (!this.wasAbandoned) return this.#settled;
    return new Promise((resolve) => {
      this.#settled.subscribe({
        error: () => {
          resolve();
        },
        complete: () => {
          resolve();
        },
      });
    });
  }
}

/** The n-th run of an id does what the n-th run of it did; one more than were recorded does not end. */
function recorded(runs: ReadonlyMap<string, readonly RecordedRun[]>): Reconciler {
  const counts = new Map<string, number>();
  return (id) => {
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    return runs.get(id)?.[count]?.run() ?? new Observable<never>();
  };
}

function inputsOf(steps: readonly Step[]): { runs: Map<string, RecordedRun[]>; inputs: Input[]; end: number } {
  const runs = new Map<string, RecordedRun[]>();
  const open = new Map<string, RecordedRun>();
  const inputs: Input[] = [];
  let cut: { at: number; by: 'reset' | 'stop' } | undefined;
  steps.forEach((step, i) => {
    const { id, at, kind, trigger } = step;
    const run = open.get(id);
    if (trigger !== undefined) inputs.push({ at, event: trigger });
    if (kind === 'dropped' && step.reason === 'stopped' && cut?.by !== 'stop' && cut?.at !== at) {
      // All that was dropped at that moment was dropped by one stop, or, if events came after it, by the end of a term.
      cut = { at, by: steps.slice(i).some(({ trigger }) => trigger !== undefined) ? 'reset' : 'stop' };
      inputs.push({ at, cut: cut.by });
    }
    if (kind === 'started') {
      const started = new RecordedRun();
      open.set(id, started);
      runs.set(id, [...(runs.get(id) ?? []), started]);
    } else if (run === undefined) {
      return;
    } else if (kind === 'abandoned') {
      run.wasAbandoned = true;
    } else if (kind === 'released') {
      inputs.push({ at, run });
    } else if ((kind === 'succeeded' || kind === 'requeued' || kind === 'dropped') && run.outcome === undefined) {
      run.outcome = step;
      // A run that is over time, or cut off, is ended by the loop itself.
      const isCut = kind === 'dropped' && step.reason === 'stopped' && step.failure === undefined;
      if (!isCut && (kind === 'succeeded' || step.failure !== 'timeout')) inputs.push({ at, run });
    }
  });
  return { runs, inputs, end: steps.at(-1)?.at ?? 0 };
}
