import { concat, NEVER, of, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  acknowledge,
  constant,
  type Controller,
  type ControllerContext,
  type Reconciler,
  type Result,
  type Step,
  TerminalError,
  type Trigger,
} from 'kreconciler';
import { controlled } from '../support/controlled.js';
import { type Deferred, deferred } from '../support/deferred.js';

const nothing: Reconciler<ControllerContext> = () => undefined;
const working = { leaderElectionEnabled: false };

/** What has become of a promise so far. */
function watched(promise: Promise<void>): unknown[] {
  const outcome: unknown[] = [];
  promise.then(
    () => outcome.push('resolved'),
    (error: unknown) => outcome.push(error),
  );
  return outcome;
}

const soon = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Controller.reconcile', () => {
  it('should resolve once a run of the id has succeeded', async () => {
    const { controller, steps, kinds } = controlled(nothing, { never: NEVER }, working);
    void controller.run();
    await controller.reconcile('apple');
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
    expect(steps[0]?.trigger).toEqual({ id: 'apple' });
  });

  it('should wait for a run that started after it, not for the one that is on', async () => {
    const runs = [deferred(), deferred()];
    let started = 0;
    const { controller } = controlled(() => runs[started++]?.promise, { source: concat(of('apple'), NEVER) }, working);
    void controller.run();
    const outcome = watched(controller.reconcile('apple'));
    runs[0]?.resolve();
    await soon();
    expect([started, outcome]).toEqual([2, []]);
    runs[1]?.resolve();
    await soon();
    expect(outcome).toEqual(['resolved']);
  });

  it('should wait for the retries, and count a run that asks for requeueDelay as a success', async () => {
    let failures = 2;
    const reconciler: Reconciler<ControllerContext> = () => {
      if (failures-- > 0) throw new Error('not yet');
      return { requeueDelay: 60_000 };
    };
    const { controller } = controlled(reconciler, { never: NEVER }, { ...working, backoff: constant(1_000) });
    void controller.run();
    const outcome = watched(controller.reconcile('apple'));
    await vi.advanceTimersByTimeAsync(1_500);
    expect(outcome).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(outcome).toEqual(['resolved']);
  });

  it('should reject with the error that the id was dropped with', async () => {
    const error = new TerminalError('no such zone');
    const reconciler = (): never => {
      throw error;
    };
    const { controller } = controlled(reconciler, { never: NEVER }, working);
    void controller.run();
    expect(await controller.reconcile('apple').catch((error: unknown) => error)).toBe(error);
  });

  it('should reject with an error that names why it was dropped or rejected', async () => {
    const hung = (): Promise<void> => new Promise(() => undefined);
    const config = { workerQueueSize: 1, shutdownGrace: 10 };
    const { controller } = controlled(hung, { never: NEVER }, config);
    const run = controller.run();
    controller.becomeLeader();
    const outcomes = ['running', 'ready', 'refused'].map((id) => watched(controller.reconcile(id)));
    await soon();
    expect(outcomes[2]).toEqual([new Error('`refused` was rejected: full')]);
    controller.stepDown();
    await soon();
    expect(outcomes.slice(0, 2)).toEqual([[new Error('`running` was dropped: stopped')], [new Error('`ready` was dropped: stopped')]]);
    void run;
  });

  it('should reject with the error of a rejection', async () => {
    const workerHasher = (): number => {
      throw new Error('no hash');
    };
    const { controller } = controlled(nothing, { never: NEVER }, { ...working, workerHasher });
    void controller.run();
    await expect(controller.reconcile('apple')).rejects.toThrow('no hash');
  });

  const over = 'takes nothing in any more: it stops, or all of its streams have completed';

  it.each<[when: string, why: string, prepare: (controller: Controller) => Promise<unknown>]>([
    ['before run', 'does not run', async () => undefined],
    ['while it does not lead', 'does not lead', async (controller) => void controller.run()],
    [
      'after it has lost the lead',
      'does not lead',
      async (controller) => {
        void controller.run();
        controller.becomeLeader();
        controller.stepDown();
      },
    ],
    [
      'while it stops',
      over,
      async (controller) => {
        const stop = new AbortController();
        void controller.run(stop.signal);
        controller.becomeLeader();
        void controller.reconcile('hung').catch(() => undefined);
        stop.abort();
      },
    ],
    [
      'after its end',
      'does not run',
      async (controller) => {
        const stop = new AbortController();
        const run = controller.run(stop.signal);
        stop.abort();
        await run;
      },
    ],
  ])('should reject at once %s, and say that it %s', async (_, why, prepare) => {
    const { controller, kinds } = controlled((id) => (id === 'hung' ? NEVER : undefined), { never: NEVER });
    await prepare(controller);
    await expect(controller.reconcile('apple')).rejects.toThrow(`\`apple\` is not reconciled: this controller ${why}`);
    expect(kinds('apple')).toEqual([]);
  });

  it('should not say that it does not lead when it leads, but has nothing to wait for any more but what was abandoned', async () => {
    const hung = deferred();
    const { controller } = controlled(() => hung.promise, { one: of('apple') }, { ...working, maxReconcileTime: 100 });
    const run = controller.run();
    await vi.advanceTimersByTimeAsync(200);
    expect(controller.inspect()).toMatchObject({ leading: true, abandoned: 1 });
    await expect(controller.reconcile('pear')).rejects.toThrow(`\`pear\` is not reconciled: this controller ${over}`);
    hung.resolve();
    await vi.advanceTimersByTimeAsync(60_000);
    await run;
  });

  it('should stop waiting when its signal aborts, while the run goes on', async () => {
    const run = deferred();
    const { controller, kinds } = controlled(() => run.promise, { never: NEVER }, working);
    void controller.run();
    const patience = new AbortController();
    const remove = vi.spyOn(patience.signal, 'removeEventListener');
    const outcome = watched(controller.reconcile('apple', { signal: patience.signal }));
    patience.abort('no patience');
    await soon();
    expect(outcome).toEqual(['no patience']);
    expect(remove).toHaveBeenCalledOnce();
    run.resolve();
    await soon();
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
    await expect(controller.reconcile('pear', { signal: AbortSignal.abort('too late') })).rejects.toBe('too late');
    expect(kinds('pear')).toEqual([]);
  });

  it('should listen to its signal no longer once it was refused', async () => {
    const { controller } = controlled(nothing, { never: NEVER });
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, 'addEventListener');
    const remove = vi.spyOn(signal, 'removeEventListener');
    await expect(controller.reconcile('apple', { signal })).rejects.toThrow('does not run');
    expect(remove.mock.calls).toEqual(add.mock.calls);
  });

  it('should run next, past the pause after a failure, if it is forced', async () => {
    let failures = 1;
    const reconciler = (): void => {
      if (failures-- > 0) throw new Error('once');
    };
    const { controller } = controlled(reconciler, { source: concat(of('apple'), NEVER) }, { ...working, backoff: constant(60_000) });
    void controller.run();
    await controller.reconcile('apple', { force: true });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should let the run end once the streams are complete and what was asked for is done', async () => {
    const work = deferred();
    const streams = { source: new Subject<string>() };
    const { controller } = controlled(() => work.promise, streams, working);
    const run = watched(controller.run());
    const asked = watched(controller.reconcile('apple'));
    streams.source.complete();
    await soon();
    expect([run, asked]).toEqual([[], []]);
    work.resolve();
    await soon();
    expect([run, asked]).toEqual([['resolved'], ['resolved']]);
  });

  const down = new Error('down');
  const [discarded, stopped] = ['discarded', 'stopped'].map((reason) => new Error(`\`apple\` was dropped: ${reason}`));
  it.each<[string, (run: Deferred<Result>, controller: Controller) => void, ended: unknown, later: unknown]>([
    [
      'succeeds',
      (run) => {
        run.resolve({});
      },
      'resolved',
      'resolved',
    ],
    [
      'asks to run again',
      (run) => {
        run.resolve({ requeueDelay: 60_000 });
      },
      'resolved',
      'resolved',
    ],
    [
      'fails',
      (run) => {
        run.reject(down);
      },
      down,
      'resolved',
    ],
    [
      'is cut off',
      (_, controller) => {
        controller.stepDown();
      },
      stopped,
      stopped,
    ],
  ])(
    'C3 should tell what was asked before a discard in a run from what was asked after it, if the run %s',
    async (_, end, ended, later) => {
      // Three to five of these, in whatever order, between the start of a run and its end.
      const orders = Array.from({ length: 32 }, (_, i) =>
        Array.from((i + 32).toString(2).slice(1), (bit) => (bit === '1' ? 'ask' : 'discard')),
      );
      const all = orders.flatMap((order) => [order, order.slice(0, 4), order.slice(0, 3)]);
      for (const order of all.filter((order) => order.includes('discard'))) {
        const run = deferred<Result>();
        let runs = 0;
        const messages = new Subject<Trigger>();
        const { controller } = controlled(() => (runs++ === 0 ? run.promise : undefined), { messages });
        const answers: unknown[] = order.map(() => []);
        const ack = (i: number) => (answers[i] = ['resolved']);
        const nack = (i: number, _: number, { kind, reason }: Step & { kind: 'rejected' | 'dropped' }) => {
          answers[i] = [new Error(`\`apple\` was ${kind}: ${reason}`)];
        };
        controller.steps.pipe(acknowledge({ ack, nack })).subscribe();
        void controller.run();
        controller.becomeLeader();
        const told = [watched(controller.reconcile('apple'))];
        for (const [i, what] of order.entries()) {
          if (what === 'discard') {
            controller.discard('apple');
          } else {
            told.push(watched(controller.reconcile('apple')));
            messages.next({ id: 'apple', message: i });
          }
        }
        end(run, controller);
        await vi.advanceTimersByTimeAsync(1_000);
        const outcomes = order.map((what, i) => (what === 'discard' ? [] : order.includes('discard', i) ? [discarded] : [later]));
        expect([order, told.flat()]).toEqual([order, [ended, ...outcomes.flat()]]);
        expect([order, answers]).toEqual([order, outcomes]);
      }
    },
  );

  it('should be none of the business of an acknowledge on the same steps', async () => {
    const { controller } = controlled(nothing, { never: NEVER }, working);
    const ack = vi.fn();
    controller.steps.pipe(acknowledge({ ack, nack: ack })).subscribe();
    void controller.run();
    await Promise.all([controller.reconcile('apple'), controller.reconcile('apple')]);
    expect(ack).not.toHaveBeenCalled();
  });

  it.each<[unknown[], string]>([
    [[''], 'Expected `id` to be a non-empty string, got `` (string)'],
    [[7], 'Expected `id` to be a non-empty string, got `7` (number)'],
    [['apple', 7], 'Expected `request` to be an object, got `7` (number)'],
    [['apple', { signal: 7 }], 'Expected `signal` to be an AbortSignal, got `7` (number)'],
    [['apple', { force: 'yes' }], 'Expected `force` to be a boolean, got `yes` (string)'],
  ])('should refuse %j', async (args, message) => {
    const { controller } = controlled(nothing, { never: NEVER }, working);
    await expect(controller.reconcile(...(args as [string]))).rejects.toThrow(new TypeError(message));
  });
});
