import {
  type Backoff,
  constant,
  DelayScheduler,
  type Dropped,
  exponential,
  type loop,
  type LoopParts,
  type Merged,
  ofKind,
  reconcile,
  type ReconcileConfig,
  type ReconcileContext,
  type Reconciler,
  type ReconcileSettings,
  reconcileSettings,
  type Rejected,
  type Requeued,
  type Result,
  RetryError,
  type Snapshot,
  snapshots,
  type Step,
  type StepOf,
  TerminalError,
  type Trigger,
  whileLeading,
} from 'kreconciler/operators';
import { EMPTY, interval, NEVER, type Observable, of, type OperatorFunction, type SchedulerLike, timer } from 'rxjs';
import { expectTypeOf } from 'vitest';

/* Laws that `tsc` checks; nothing here runs. */

declare const steps: Observable<Step>;
declare const step: Step;
declare const context: ReconcileContext;

// A reconciler may answer nothing, a Result, or a promise, Observable or async iterable of these.
expectTypeOf(() => undefined).toExtend<Reconciler>();
expectTypeOf(async () => {}).toExtend<Reconciler>();
expectTypeOf(async () => null).toExtend<Reconciler>();
expectTypeOf(() => null).toExtend<Reconciler>();
expectTypeOf(() => of(null)).toExtend<Reconciler>();
expectTypeOf((id: string) => ({ requeueDelay: id.length })).toExtend<Reconciler>();
expectTypeOf(async (_id: string, { signal }: ReconcileContext) => ({ error: signal.reason as unknown })).toExtend<Reconciler>();
expectTypeOf(() => of({ requeueDelay: 1 })).toExtend<Reconciler>();
expectTypeOf(() => EMPTY).toExtend<Reconciler>();
expectTypeOf(async function* () {
  yield { requeueDelay: 1 };
}).toExtend<Reconciler>();
expectTypeOf(async (id: string) => (id === '' ? { requeueDelay: 1 } : undefined)).toExtend<Reconciler>();

// An odd value is refused here already (R1).
// @ts-expect-error -- a string is no Result
reconcile(() => 'x');
// @ts-expect-error -- a number is no Result
reconcile(async () => 5);
// @ts-expect-error -- ms are a number
reconcile(() => ({ requeueDelay: '5' }));
// @ts-expect-error -- not even in an Observable
reconcile(() => of('x'));
// @ts-expect-error -- ids are strings
reconcile((id: number) => ({ requeueDelay: id }));
// @ts-expect-error -- a reconciler is needed
reconcile();

// A reconciler that asks for less serves where more is given, and not the other way round.
interface MyContext extends ReconcileContext {
  readonly logger: string;
}
expectTypeOf<Reconciler>().toExtend<Reconciler<MyContext>>();
expectTypeOf<Reconciler<MyContext>>().not.toExtend<Reconciler>();
expectTypeOf<Parameters<Reconciler<MyContext>>>().toEqualTypeOf<[id: string, context: MyContext]>();

// The operator takes strings and triggers, mixed too, and makes steps.
expectTypeOf(reconcile(() => undefined)).toEqualTypeOf<OperatorFunction<string | Trigger, Step>>();
expectTypeOf(of('a').pipe(reconcile(() => undefined))).toEqualTypeOf<Observable<Step>>();
expectTypeOf(of('a', { id: 'b', message: 5 }).pipe(reconcile(() => undefined))).toEqualTypeOf<Observable<Step>>();
// @ts-expect-error -- a number is no id
void of(5).pipe(reconcile(() => undefined));
// @ts-expect-error -- nor is one within a trigger
void of({ id: 5 }).pipe(reconcile(() => undefined));

// Steps are distinguished by their kind.
if (step.kind === 'requeued') expectTypeOf(step).toEqualTypeOf<Requeued>();
if (step.kind === 'started') expectTypeOf(step.streams).toEqualTypeOf<readonly string[]>();
if (step.kind === 'dropped') expectTypeOf(step.took).toEqualTypeOf<number | undefined>();
expectTypeOf<Step>().not.toHaveProperty('delay');
expectTypeOf(step.trigger).toEqualTypeOf<Trigger | undefined>();
expectTypeOf<Step['kind']>().toEqualTypeOf<
  'enqueued' | 'merged' | 'rejected' | 'started' | 'succeeded' | 'requeued' | 'dropped' | 'abandoned' | 'released' | 'paused' | 'resumed'
>();
expectTypeOf<Requeued['failure']>().toEqualTypeOf<'thrown' | 'reported' | 'invalid' | 'timeout' | 'superseded' | undefined>();
expectTypeOf<Dropped['reason']>().toEqualTypeOf<'retries' | 'terminal' | 'delay_queue_full' | 'stopped' | 'discarded' | 'moved'>();
expectTypeOf<Rejected['reason']>().toEqualTypeOf<
  'full' | 'unrouted' | 'invalid_id' | 'hasher_failed' | 'not_owned' | 'paused' | 'invalid_command'
>();
// @ts-expect-error -- steps are for reading
step.id = 'b';

// `ofKind` narrows.
expectTypeOf(steps.pipe(ofKind('dropped'))).toEqualTypeOf<Observable<Dropped>>();
expectTypeOf(steps.pipe(ofKind('dropped', 'merged'))).toEqualTypeOf<Observable<Dropped | Merged>>();
expectTypeOf<StepOf<'dropped' | 'rejected'>>().toEqualTypeOf<Dropped | Rejected>();
// @ts-expect-error -- no such kind
ofKind('drooped');

// A context is for reading, and says why it runs.
expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
expectTypeOf(context.reason).toEqualTypeOf<'event' | 'retry' | 'requeue'>();
// @ts-expect-error -- a context is for reading
context.attempt = 2;

// Everything in a config is optional, and `undefined` means the default.
reconcile(() => undefined, {});
expectTypeOf<{ [K in keyof ReconcileConfig]-?: undefined }>().toExtend<ReconcileConfig>();
expectTypeOf(reconcileSettings()).toEqualTypeOf<ReconcileSettings>();
expectTypeOf<Extract<ReconcileSettings[keyof ReconcileSettings], undefined>>().toEqualTypeOf<never>();
expectTypeOf<keyof ReconcileSettings>().toEqualTypeOf<keyof ReconcileConfig>();
reconcile(() => undefined, {
  maxItemRetries: Infinity,
  stop: NEVER,
  reset: Promise.resolve(),
  workerHasher: (id, count) => id.length % count,
});
// @ts-expect-error -- no such field
reconcile(() => undefined, { workers: 4 });
// @ts-expect-error -- a number is meant
reconcile(() => undefined, { workerCount: '4' });
// @ts-expect-error -- a notifier is no function
reconcile(() => undefined, { stop: () => NEVER });
// @ts-expect-error -- a backoff answers ms
reconcile(() => undefined, { backoff: () => '5' });

// Backoffs and errors.
expectTypeOf(exponential({ initial: 250 })).toEqualTypeOf<Backoff>();
expectTypeOf(constant(250)).toEqualTypeOf<Backoff>();
expectTypeOf<Backoff>().toEqualTypeOf<(failures: number, error: unknown) => number>();
exponential({ initial: 250, factor: undefined, max: undefined, jitter: undefined, random: undefined });
// @ts-expect-error -- it must begin somewhere
exponential({ max: 1000 });
expectTypeOf(new RetryError('later', 500, { cause: 1 })).toExtend<Error & { readonly name: 'RetryError'; readonly retryDelay: number }>();
expectTypeOf(new TerminalError('no', { cause: 1 })).toExtend<Error & { readonly name: 'TerminalError' }>();
// @ts-expect-error -- when, then?
new RetryError('later');

// The other operators.
expectTypeOf(of(5).pipe(whileLeading(of(true)))).toEqualTypeOf<Observable<number>>();
expectTypeOf(
  of('a').pipe(
    whileLeading(Promise.resolve(true)),
    reconcile(() => undefined),
  ),
).toEqualTypeOf<Observable<Step>>();
// @ts-expect-error -- a leader says true or false
whileLeading(of('yes'));
expectTypeOf(snapshots()).toEqualTypeOf<OperatorFunction<Step, Snapshot>>();
expectTypeOf<Snapshot>().toExtend<{
  readonly ready: number;
  readonly running: number;
  readonly waiting: number;
  readonly abandoned: number;
}>();

// The scheduler goes wherever rxjs takes one.
expectTypeOf<DelayScheduler>().toExtend<SchedulerLike>();
expectTypeOf(timer(5, new DelayScheduler(250))).toEqualTypeOf<Observable<0>>();
expectTypeOf(interval(5, new DelayScheduler(250, new DelayScheduler(10)))).toEqualTypeOf<Observable<number>>();

// Triggers and results.
expectTypeOf<{ id: string; stream: string; message: Buffer }>().toExtend<Trigger>();
expectTypeOf<{ stream: string }>().not.toExtend<Trigger>();
expectTypeOf<Result>().toEqualTypeOf<{ readonly requeueDelay?: number; readonly error?: unknown }>();

// A loop of one's own gets lanes and the way out of steps, and nothing of the machinery.
expectTypeOf<keyof LoopParts>().toEqualTypeOf<'lane' | 'emit'>();
expectTypeOf<LoopParts['emit']>().toEqualTypeOf<(step: Step) => void>();
expectTypeOf<Parameters<typeof loop>['length']>().toEqualTypeOf<2>();
