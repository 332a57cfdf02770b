import type { ObservableInput } from 'rxjs';

/**
 * Says that an id may have drifted. Event streams emit these, or bare strings as a short form of `{ id }`.
 *
 * @example
 * const trigger: Trigger = { id: 'web', stream: 'files', message };
 */
export interface Trigger {
  /** What to reconcile. Any non-empty string, `__proto__` included. */
  readonly id: string;
  /** The event stream it came from. The Controller fills it with the stream's key. */
  readonly stream?: string;
  /**
   * The trace it belongs to, for telemetry: an OpenTelemetry `Context`, or a carrier such as `{ traceparent }`. The trace of
   * the run links to it; the engine only carries it.
   */
  readonly context?: unknown;
  /** What the source needs back later, for instance the broker message to acknowledge. The engine only carries it. */
  readonly message?: unknown;
  /**
   * How urgent it is, for an `order` that asks; default 0, which is also what a value that is not finite counts as. An event
   * below 0 says nothing new (a resync's): it pulls no retry forward and supersedes no run, whatever the order.
   */
  readonly priority?: number;
  /**
   * Run next, whatever stands in the way: the pause after a failure, a rest, a full queue, the order, the limit of a key. Never two
   * runs of one id at once, and never past `workerConcurrency` or `concurrency`. On a paused id it is `rejected: paused`.
   */
  readonly force?: boolean;
  /**
   * Into how many triggers its message was split, so that the message is answered once all of them are. Default 1. Such a message is an
   * object, a new one for each delivery: nothing tells the parts of a string that comes again from those that came before.
   */
  readonly parts?: number;
  /** The triggers that it stands for besides itself, for instance those that a debounce swallowed. */
  readonly absorbed?: readonly Trigger[];
}

/** Why an id runs. An event that pulled a retry forward counts as `event`. */
export type Reason = 'event' | 'retry' | 'requeue';

/**
 * What a reconciler may answer. Nothing at all (`undefined`, `null`, `{}`) means that the id is done.
 *
 * @example
 * return { requeueDelay: 60_000 }; // look again in a minute
 */
export interface Result {
  /** Run again after this many ms. Finite and >= 0, anything else fails the run; 0 and `undefined` mean done. */
  readonly requeueDelay?: number;
  /** Anything but `undefined` and `null` fails the run, exactly as a throw would. Wins over `requeueDelay`. */
  readonly error?: unknown;
}

/** What a reconciler knows about the run it is in. */
export interface ReconcileContext {
  readonly id: string;
  /** The lane, from 0 to `workerCount - 1`. */
  readonly worker: number;
  /** `config.workerName(worker)`. */
  readonly workerName: string;
  /** 1 = first run, 2 = first retry, and so on. A success starts again at 1. */
  readonly attempt: number;
  readonly reason: Reason;
  /** The event streams that asked for this run, those of merged events included. */
  readonly streams: readonly string[];
  /**
   * Aborts when the run is over time, when the loop is given up, and when leadership is lost.
   * It is made when first read, because an AbortController costs more than the rest of a run. Being a getter it does
   * not survive `{ ...context }`; pass the context on, or extend it with `Object.create(context)`.
   */
  readonly signal: AbortSignal;
  /**
   * Aborts when a newer event for this id has come, one of a priority >= 0: what this run works on is out of date, and the id runs once
   * more afterwards, in any case. To start over at once, fail by its reason: that spends no attempt and is no error, but
   * `requeued: superseded`. To finish, but skip what is expensive, look at `superseded.aborted`. Made when first read, as `signal` is.
   *
   * @example
   * await build(id, AbortSignal.any([signal, superseded])); // give way to the newer event
   */
  readonly superseded: AbortSignal;
}

/**
 * Makes one id right: reads what is wanted, reads what is, and changes what differs. It must be idempotent.
 *
 * It may return nothing, a {@link Result}, or a promise, Observable or async iterable of these; of several values the
 * last one counts. A throw, a rejection, an Observable error and `{ error }` are the same failure, and so is an odd
 * value such as `'x'`: whatever is neither nothing nor a plain object is no answer.
 *
 * @example
 * const reconciler: Reconciler = async (id, { signal }) => {
 *   const wanted = await readWanted(id, signal);
 *   await apply(wanted, signal);
 * };
 */
export type Reconciler<C = ReconcileContext> = (id: string, context: C) => ObservableInput<Result | void | null> | Result | void | null;

/**
 * How a run failed: it threw, rejected or errored; it answered `{ error }`; it answered something odd; it was over time; it ended by
 * the reason of its `superseded` signal, which is no error and spends no attempt.
 */
export type Failure = 'thrown' | 'reported' | 'invalid' | 'timeout' | 'superseded';

interface StepBase {
  readonly id: string;
  /** The lane; -1 where an event was rejected before it reached one, and where the whole loop is paused or resumed. */
  readonly worker: number;
  /**
   * `scheduler.now()`, in ms. The clock is not read again for an event that an observer of a step, or a reconciler that has not
   * returned yet, sends at once: it has the moment of that step, or of the start of that run.
   */
  readonly at: number;
  /** The event that caused the step: on `enqueued` by an event, `merged` and `rejected`, and on no other. */
  readonly trigger?: Trigger;
}

/** The id has become ready: by an event, or because its wake-up was due. */
export interface Enqueued extends StepBase {
  readonly kind: 'enqueued';
  readonly reason: Reason;
}
/** The event was absorbed by an entry that will run anyway. */
export interface Merged extends StepBase {
  readonly kind: 'merged';
}
/**
 * The event, or the command, was refused. `full`: its lane holds `workerQueueSize` ready ids; `unrouted`: the hasher answered below 0;
 * `not_owned`: another process has its shard; `paused`: a forced event for what is paused; `invalid_command`: no event but a command
 * that is malformed.
 */
export interface Rejected extends StepBase {
  readonly kind: 'rejected';
  readonly reason: 'full' | 'unrouted' | 'invalid_id' | 'hasher_failed' | 'not_owned' | 'paused' | 'invalid_command';
  readonly error?: unknown;
}
/** The reconciler is about to be called. */
export interface Started extends StepBase {
  readonly kind: 'started';
  readonly attempt: number;
  readonly reason: Reason;
  readonly streams: readonly string[];
  /** How long the id was ready before, in ms. */
  readonly waited: number;
}
/** The run ended well, and the id is done or, if an event came meanwhile, ready again. */
export interface Succeeded extends StepBase {
  readonly kind: 'succeeded';
  readonly attempt: number;
  /** How long the run took, in ms. */
  readonly took: number;
}
/** The id waits and will run again. Without a `failure` it succeeded and asked for it by `requeueDelay`. */
export interface Requeued extends StepBase {
  readonly kind: 'requeued';
  readonly attempt: number;
  readonly took: number;
  /** How long it waits, in ms, before it is rounded up to the resolution. */
  readonly delay: number;
  readonly failure?: Failure;
  readonly error?: unknown;
}
/** The id is given up: `took` is there if a run ended by it, `failure` and `error` if that run failed. */
export interface Dropped extends StepBase {
  readonly kind: 'dropped';
  readonly attempt: number;
  readonly took?: number;
  readonly reason: 'retries' | 'terminal' | 'delay_queue_full' | 'stopped' | 'discarded' | 'moved';
  readonly failure?: Failure;
  readonly error?: unknown;
}
/** The promise of a run that was over time or cut off is still open: the id does not start again until it has settled. */
export interface Abandoned extends StepBase {
  readonly kind: 'abandoned';
}
/** The promise of an abandoned run has settled. */
export interface Released extends StepBase {
  readonly kind: 'released';
}

/** The id, or with id `''` and worker -1 the whole loop, starts nothing until it is resumed. */
export interface Paused extends StepBase {
  readonly kind: 'paused';
  readonly why?: string;
}
/** The id, or with id `''` and worker -1 the whole loop, is no longer paused. */
export interface Resumed extends StepBase {
  readonly kind: 'resumed';
}

/** Everything that happens in a loop comes out as one of these, in the order in which it happened. */
export type Step = Enqueued | Merged | Rejected | Started | Succeeded | Requeued | Dropped | Abandoned | Released | Paused | Resumed;

/** The steps of the given kinds. */
export type StepOf<K extends Step['kind']> = Extract<Step, { readonly kind: K }>;
