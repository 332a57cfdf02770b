import { AsyncLocalStorage } from 'node:async_hooks';
import { reconcile, type Step } from 'kreconciler/operators';
import { finalize, map, Subject, timer } from 'rxjs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { type AsyncContext, captureAsyncContext } from '../../operators/async-context.js';

const requests = new AsyncLocalStorage<{ readonly name: string }>();
const here = (): string => requests.getStore()?.name ?? 'none';
const during = (name: string, work: () => void): void => {
  requests.run({ name }, work);
};

/** A loop subscribed to in the context `loop`, that notes in which one its runs, its observer and its backoff are called. */
function noted(reconciler: (id: string, attempt: number, signal: AbortSignal) => ReturnType<Parameters<typeof reconcile>[0]>) {
  const events = new Subject<string>();
  const stop = new Subject<void>();
  const reset = new Subject<void>();
  const places: string[] = [];
  const steps: Step[] = [];
  let ended = (): void => undefined;
  const end = new Promise<void>((resolve) => (ended = resolve));
  const note = (place: string): void => void places.push(`${place} in ${here()}`);
  const backoff = (): number => {
    note('backoff');
    return 1;
  };
  during('loop', () => {
    events
      .pipe(
        reconcile(
          (id, { attempt, signal }) => {
            note(`run ${id}`);
            signal.addEventListener('abort', () => note('abort'));
            return reconciler(id, attempt, signal);
          },
          { delayResolution: 1, backoff, stop, reset, maxReconcileTime: 50, shutdownGrace: 20, maxItemRetries: 1 },
        ),
      )
      .subscribe({
        next: (step) => {
          steps.push(step);
          note(step.kind);
        },
        complete: () => {
          note('complete');
          ended();
        },
      });
  });
  const foreign = (): string[] => places.filter((place) => !place.endsWith(' in loop'));
  return { events, stop, reset, places, steps, end, foreign };
}

describe('F2: whose async context', () => {
  test('F2 should run ids in the context of the loop, whoever asks for them', async () => {
    const loop = noted(async () => sleep(1));
    during('request 1', () => loop.events.next('first'));
    during('request 2', () => loop.events.next('second'));
    loop.events.next('third');
    loop.events.complete();
    await loop.end;
    expect(loop.places.filter((place) => place.startsWith('run'))).toEqual([
      'run first in loop',
      'run second in loop',
      'run third in loop',
    ]);
    expect(loop.foreign()).toEqual([]);
  });

  it.each<[string, (id: string, attempt: number) => ReturnType<Parameters<typeof reconcile>[0]>]>([
    ['at once', () => undefined],
    [
      'by a throw',
      (_, attempt) => {
        if (attempt === 1) throw new Error('no');
      },
    ],
    [
      'by a rejection',
      async (_, attempt) => {
        if (attempt === 1) throw new Error('no');
      },
    ],
    ['as a poll', (id) => (id.endsWith('!') ? undefined : { requeueDelay: 3 })],
    [
      'as a thenable',
      () => ({ then: (done: (value: undefined) => void) => setTimeout(() => done(undefined), 1) }) as unknown as Promise<undefined>,
    ],
    ['over time', () => new Promise<undefined>(() => undefined)],
    ['with a timer', () => timer(1).pipe(map(() => undefined))],
  ])('F2 should stay in it for a run that ends %s', async (_, reconciler) => {
    const loop = noted((id, attempt) => reconciler(id, attempt));
    during('request 1', () => loop.events.next('first'));
    during('request 1', () => loop.events.next('first'));
    await sleep(20);
    during('request 2', () => loop.events.next('second!'));
    await sleep(80);
    during('request 3', () => loop.stop.next());
    await loop.end;
    expect(loop.steps.length).toBeGreaterThan(3);
    expect(loop.foreign()).toEqual([]);
  });

  test('F2 should stay in it though a run ends in the context of another', async () => {
    const ends = new Subject<void>();
    const torn: string[] = [];
    const loop = noted((id) =>
      id === 'first'
        ? ends.pipe(
            map(() => undefined),
            finalize(() => torn.push(here())),
          )
        : undefined,
    );
    loop.events.next('first');
    loop.events.next('second');
    during('request', () => ends.complete());
    during('request', () => loop.events.complete());
    await loop.end;
    expect(torn).toEqual(['loop']);
    expect(loop.foreign()).toEqual([]);
  });

  test('F2 should abort, drop and wait in it, whoever resets or stops', async () => {
    const loop = noted(() => new Promise<undefined>(() => undefined));
    during('request', () => loop.events.next('first'));
    during('request', () => loop.reset.next());
    during('request', () => loop.events.next('second'));
    during('request', () => loop.stop.next());
    await loop.end;
    expect(loop.places.filter((place) => place.startsWith('abort'))).toHaveLength(2);
    expect(loop.foreign()).toEqual([]);
  });

  test('F2 should keep nothing of a request alive for ids that wait', async () => {
    const { heap } = await import('../support/heap.js');
    const loop = noted(() => ({ requeueDelay: 60_000 }));
    const stores: WeakRef<object>[] = [];
    const request = (id: string): void => {
      const store = { name: id };
      stores.push(new WeakRef(store));
      requests.run(store, () => {
        loop.events.next(id);
      });
    };
    for (const id of ['first', 'second']) {
      request(id);
      await sleep(2);
    }
    await sleep(10);
    heap();
    expect(stores.map((store) => store.deref())).toEqual([undefined, undefined]);
    expect(loop.places).toContain('requeued in loop');
    loop.stop.next();
  });
});

describe('captureAsyncContext', () => {
  const { process } = globalThis;
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('should come back to where it was called', () => {
    let back: AsyncContext | undefined;
    during('there', () => {
      back = captureAsyncContext();
    });
    const places: string[] = [];
    during('elsewhere', () => {
      back?.runInAsyncScope(() => places.push(here()));
      places.push(here());
    });
    expect(places).toEqual(['there', 'elsewhere']);
  });

  it.each<[string, unknown]>([
    ['there is no process', undefined],
    ['the process is an imitation', { env: {} }],
    ['the host has no such module', { getBuiltinModule: () => undefined }],
  ])('should just call where %s', (_, host) => {
    vi.stubGlobal('process', host);
    const called: string[] = [];
    captureAsyncContext().runInAsyncScope(() => called.push('called'));
    vi.stubGlobal('process', process);
    expect(called).toEqual(['called']);
  });

  test('F2 should capture it also before Node 20.16, which gives no module to who must not import', () => {
    const before = Object.create(process, { getBuiltinModule: { value: undefined } }) as typeof process;
    vi.stubGlobal('process', before);
    let back: AsyncContext | undefined;
    during('here', () => {
      back = captureAsyncContext();
    });
    vi.stubGlobal('process', process);
    const places: string[] = [];
    during('there', () => back?.runInAsyncScope(() => places.push(here())));
    expect(places).toEqual(['here']);
  });
});
