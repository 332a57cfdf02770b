import { ofKind, reconcile, type ReconcileContext, type Step } from 'kreconciler/operators';
import { asapScheduler, queueScheduler, type SchedulerLike, Subject } from 'rxjs';
import { expect, test } from 'vitest';

test('should date what a step causes at once to the moment of that step, though who sees it takes his time, and no step before the one ahead', () => {
  let now = 0;
  const scheduler: SchedulerLike = { now: () => now, schedule: asapScheduler.schedule.bind(asapScheduler) };
  const events = new Subject<string>();
  const steps: Step[] = [];
  events
    .pipe(
      reconcile(
        (id) => {
          if (id === 'a') events.next('b');
        },
        { scheduler },
      ),
    )
    .subscribe((step) => {
      steps.push(step);
      if (step.kind !== 'succeeded' || step.id !== 'a') return;
      now = 5;
      events.next('c');
    });
  events.next('a');
  expect(steps.map(({ kind, id, at }) => `${kind} ${id} ${String(at)}`)).toEqual([
    'enqueued a 0',
    'started a 0',
    'enqueued b 0',
    'succeeded a 0',
    'enqueued c 0',
    'started b 0',
    'succeeded b 5',
    'started c 5',
    'succeeded c 5',
  ]);
});

test('should ask for the name of a lane once, and again if that throws', () => {
  const events = new Subject<string>();
  const asked: number[] = [];
  const ends: string[] = [];
  const workerName = (worker: number): string => {
    if (asked.push(worker) === 1) throw new Error('no name yet');
    return `lane ${String(worker)}`;
  };
  const names: string[] = [];
  events
    .pipe(
      reconcile(
        (_, context) => {
          names.push(context.workerName);
        },
        { workerName, maxItemRetries: 0 },
      ),
      ofKind('succeeded', 'dropped'),
    )
    .subscribe(({ kind, id }) => ends.push(`${kind} ${id}`));
  for (const id of ['a', 'b', 'c']) events.next(id);
  expect(ends).toEqual(['dropped a', 'succeeded b', 'succeeded c']);
  expect(names).toEqual(['lane 0', 'lane 0']);
  expect(asked).toEqual([0, 0]);
});

test.each<[string, (loop: { unsubscribe: () => void }, notifier: Subject<void>) => void, 'stop' | 'reset' | undefined, string]>([
  [
    'it is unsubscribed',
    (loop) => {
      loop.unsubscribe();
    },
    undefined,
    'The loop was unsubscribed',
  ],
  [
    'its term ends',
    (_, reset) => {
      reset.next();
    },
    'reset',
    'The term of this loop has ended',
  ],
  [
    'it is stopped',
    (_, stop) => {
      stop.next();
    },
    'stop',
    'The loop was stopped',
  ],
])('should abort the signal of what runs with an AbortError that says that %s', (_, end, field, message) => {
  const events = new Subject<string>();
  const notifier = new Subject<void>();
  const signals: AbortSignal[] = [];
  const hung = new Promise<void>(() => undefined);
  const reconciler = (_: string, { signal }: ReconcileContext) => {
    signals.push(signal);
    return hung;
  };
  const config = { shutdownGrace: 0, scheduler: queueScheduler, maxReconcileTime: 0 };
  const loop = events.pipe(reconcile(reconciler, field === undefined ? config : { ...config, [field]: notifier })).subscribe();
  events.next('a');
  expect(signals[0]?.aborted).toBe(false);
  end(loop, notifier);
  expect(signals[0]?.reason).toMatchObject({ name: 'AbortError', message });
  loop.unsubscribe();
});
