/**
 * A process that runs a loop and ends it in the way that its argument names. It writes what it saw, and must then exit by
 * itself: `spec/operators/process.spec.ts` waits for that.
 */
import { reconcile, type ReconcileConfig, type Reconciler } from 'kreconciler/operators';
import { config, NEVER, type Subscription, Subject, take } from 'rxjs';

const events = new Subject<string>();
const stop = new Subject<void>();
const reset = new Subject<void>();
const steps: string[] = [];
let subscription: Subscription;

process.on('unhandledRejection', (error) => {
  console.log('unhandled', error);
});
config.onUnhandledError = (error) => {
  console.log('unhandled', error);
};

/** One of each: waits an hour, hangs as a promise, hangs as an Observable, fails for ever, and is ready behind them. */
const everything: Reconciler = (id) => {
  if (id === 'waits') return { requeueDelay: 3_600_000 };
  if (id === 'hangs') return new Promise(() => {});
  if (id === 'idles') return NEVER;
  if (id === 'fails') throw new Error('no');
  return Promise.reject(new Error('late'));
};

function start(reconciler: Reconciler = everything, given: ReconcileConfig = {}): void {
  subscription = events
    .pipe(
      reconcile(reconciler, { stop, reset, workerCount: 2, workerHasher: (id) => (id === 'idles' ? 1 : 0), shutdownGrace: 20, ...given }),
    )
    .subscribe({
      next: ({ kind, id }) => {
        steps.push(`${kind} ${id}`);
      },
      error: (error: unknown) => {
        console.log('error', (error as Error).message);
      },
      complete: () => {
        console.log('complete');
      },
    });
}
function busy(): void {
  start();
  for (const id of ['waits', 'fails', 'idles', 'hangs', 'ready']) events.next(id);
}

const endings: Record<string, () => void> = {
  stop: () => {
    busy();
    stop.next();
  },
  'stop later': () => {
    busy();
    setTimeout(() => stop.next(), 30);
  },
  error: () => {
    busy();
    events.error(new Error('source'));
  },
  unsubscribe: () => {
    busy();
    subscription.unsubscribe();
  },
  'unsubscribe later': () => {
    busy();
    setTimeout(() => subscription.unsubscribe(), 30);
  },
  'reset and unsubscribe': () => {
    busy();
    reset.next();
    subscription.unsubscribe();
  },
  'reset and complete': () => {
    busy();
    reset.next();
    events.complete();
  },
  'complete with a pending promise': () => {
    start(() => new Promise(() => {}), { maxReconcileTime: 30, maxItemRetries: 0 });
    events.next('a');
    events.complete();
  },
  'complete with a waiting id': () => {
    start((_, { reason }) => (reason === 'event' ? { requeueDelay: 50 } : undefined), { delayResolution: 10 });
    events.next('a');
    events.complete();
  },
  'start and stop at once': () => {
    start();
    stop.next();
  },
  'start and unsubscribe at once': () => {
    start();
    subscription.unsubscribe();
  },
  'start and complete at once': () => {
    start();
    events.complete();
  },
  'a stop that fired before': () => {
    start(everything, { stop: Promise.resolve() });
    events.next('waits');
  },
  'take one': () => {
    events.pipe(reconcile(everything), take(1)).subscribe();
    events.next('waits');
  },
  'a rejection after the end': () => {
    start(
      () =>
        new Promise((_, reject) =>
          setTimeout(() => {
            reject(new Error('late'));
          }, 30),
        ),
      { maxReconcileTime: 10 },
    );
    events.next('a');
    setTimeout(() => subscription.unsubscribe(), 20);
  },
  // Nothing is pending but the source: an idle loop keeps no process alive.
  idle: () => {
    start(() => undefined);
    events.next('a');
  },
};

endings[process.argv[2] ?? '']!();
process.on('exit', () => {
  console.log(JSON.stringify(steps));
});
