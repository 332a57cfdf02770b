import type { Observable } from 'rxjs';
import type { Command } from '../../../operators/command.js';
import type { ReconcileConfig } from '../../../operators/config.js';
import type { Reconciler, ReconcileContext, Step, Trigger } from '../../../operators/types.js';

/** A number from 0 up to 1, from a seed: the only chance that a deterministic simulation allows. */
export type Random = () => number;

/**
 * Everything that can go wrong in a simulated world.
 *
 * - `crash`: the process dies instead of reading or changing something, and comes back with an empty memory
 * - `fail`: a read or effect fails and does not happen
 * - `lost`: an effect happens, but its answer is lost, so it looks like a failure
 * - `slow`: a read or effect happens late
 * - `overtime`: its answer comes only after `maxReconcileTime`
 * - `drop`, `duplicate`, `delay`, `reorder`: an event is lost; comes twice; comes late, and its stream stalls behind it;
 *   is overtaken by the next event of its id
 * - `stale`: for a while all that is read, or listed, is as it was at the beginning of that while
 * - `leadership`: it is lost, and comes back after a while
 * - `handover`: another replica leads, and for a while the old one has not noticed
 * - `clock`: the wall clock is set, forward or back
 */
export type FaultKind =
  | 'crash'
  | 'fail'
  | 'lost'
  | 'slow'
  | 'overtime'
  | 'drop'
  | 'duplicate'
  | 'delay'
  | 'reorder'
  | 'stale'
  | 'leadership'
  | 'handover'
  | 'clock';

/**
 * What an operator may do to a simulated loop, at any moment.
 *
 * - `pause`: an id is paused, and resumed after a while
 * - `pauseLoop`: the whole loop is
 * - `discard`: what an id still has to do is given up; the world must come right without it, for instance by a resync
 * - `force`: an id is asked for by a forced event
 *
 * A command reaches all processes that live then, and none that starts later: a pause belongs to its process.
 */
export type OperatorKind = 'pause' | 'pauseLoop' | 'discard' | 'force';

/** What fast-check's arbitraries are, as far as it matters here. */
export interface ArbitraryLike<V> {
  /** Draws a value. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- fast-check is an optional peer, its types must not be needed
  generate(random: any, bias: number | undefined): { readonly value: V };
}

/** A change of the world from outside: what it does to the world; what it returns becomes the `message` of its event. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- each change has values of its own type
export type Change<W, V = any> =
  | ((world: W, id: string, random: Random) => unknown)
  | {
      readonly values: ArbitraryLike<V>;
      /** Does it, with one of the values. */
      readonly apply: (world: W, id: string, value: NoInfer<V>) => unknown;
    };

/** An event stream of a simulated world. */
export interface SimulatedStream<W> {
  /** Emits the id of each of these changes and effects. Its events can be lost, doubled, delayed and reordered. */
  readonly on?: readonly string[] | undefined;
  /** Emits these ids when it is subscribed to: at the start, and whenever the process leads again. */
  readonly list?: ((world: W, at: number) => Iterable<string>) | undefined;
  /** Lists again and again, this many ms apart. */
  readonly every?: number | undefined;
  /** The `priority` of its events. Default: none. */
  readonly priority?: number | undefined;
  /** Whether its events are forced. Default false. */
  readonly force?: boolean | undefined;
}

/** What one process has, beside its memory: the variables of the function that makes its reconciler. */
export interface SimulatedProcess {
  /** Its wall clock, in ms, which may be set at any moment. */
  readonly now: () => number;
  /** Chance that is the same each time. */
  readonly random: Random;
  /** The events as they arrive, before the loop sees them. */
  readonly triggers: Observable<Trigger>;
  /** What an operator commands, before the loop hears it. */
  readonly commands: Observable<Command>;
  /** Whether it leads, from its first term on: false before the loop is reset, true before the streams of the next term emit. */
  readonly leading: Observable<boolean>;
}

/** What a simulated reconciler is given: the context of the engine, and the handles to the world. */
export interface SimulationContext<W> extends ReconcileContext {
  /** Reads the world. What comes back is a copy; it may be old. Rejects if the read fails. */
  readonly read: <T>(fn: (world: W, at: number) => T) => Promise<T>;
  /** Changes the world. Rejects with what `fn` throws, or if it fails, or if its answer is lost. */
  readonly effect: <T>(name: string, fn: (world: W, at: number) => T) => Promise<T>;
  /** Lets `ms` of virtual time pass. */
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * A world, a reconciler that keeps it right, and what "right" means. All of its functions must be deterministic: no
 * `Math.random`, no `Date.now`, no I/O.
 *
 * They answer at once: there is no promise to wait for.
 *
 * The world is plain data (objects, arrays, Maps, Sets, primitives), or brings a `clone`. The functions that look at it or
 * change it are given `at`, the time that has passed, beside it.
 *
 * @typeParam W - the world
 * @typeParam V - by change, of what its values are; {@link simulate} infers it
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- where it is written down, and not inferred, it is written without
export interface Scenario<W, V extends object = Record<string, any>> {
  /** The ids that change. Default `['a', 'b', 'c']`. */
  readonly ids?: readonly string[] | undefined;
  /** The initial state. It must converge if it is left alone. */
  readonly world: (random: Random) => W;
  /** Copies the world, or a part of it that was read. Default: copies plain data. */
  readonly clone?: (<T>(value: T) => T) | undefined;
  /** What may happen to an id from outside, by name. */
  readonly changes: { readonly [K in keyof V]: Change<W, V[K]> };
  /** The event streams, by name. */
  readonly streams: Readonly<Record<string, SimulatedStream<W>>>;
  /** Starts a process: called again after each crash, and for each replica. What it declares is the memory of the process. */
  readonly reconciler: (process: SimulatedProcess) => Reconciler<SimulationContext<W>>;
  /** Whether all is right. */
  readonly converged: (world: W, at: number) => boolean;
  /** What must hold always, by name. */
  readonly invariants?: Readonly<Record<string, (world: W, at: number) => boolean>> | undefined;
  /** How the loop behaves; the same for all processes of a run. */
  readonly config?: SimulatedLoopConfig | ((random: Random, world: W) => SimulatedLoopConfig) | undefined;
  /** What can go wrong in this world. Default: everything. */
  readonly faults?: readonly FaultKind[] | undefined;
  /**
   * What an operator does in this world, beside all that goes wrong. Default: nothing. Concurrency and orders are part of `config`, which
   * may draw them: `(random) => ({ workerConcurrency: 1 + Math.floor(random() * 4), order: byPriority() })`.
   */
  readonly operator?: readonly OperatorKind[] | undefined;
  /** Called with every step, at which moment, and of which process, counted from 0; what it throws is a failure. */
  readonly onStep?: ((step: Step, world: W, at: number, process: number) => void) | undefined;
  /** How long the world may take to converge after the last fault, in ms. Default 600_000: longer than any backoff. */
  readonly bound?: number | undefined;
  /** How long it must stay so, in ms. Default 120_000: longer than two backoffs, and than most resyncs. */
  readonly stay?: number | undefined;
}

/** What can be set of a simulated loop. */
export type SimulatedLoopConfig = Omit<ReconcileConfig, 'scheduler' | 'stop' | 'reset'>;
