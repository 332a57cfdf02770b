import fc from 'fast-check';
import { type ReconcileContext, RetryError, type Step, TerminalError, type Trigger } from 'kreconciler/operators';
import { concat, EMPTY, ignoreElements, type Observable, of, throwError, timer } from 'rxjs';
import { expect, test } from 'vitest';
import { checkAccounting } from '../support/accounting.js';
import { checkQueues, checkRetries } from '../support/loop-laws.js';
import { Rig } from '../support/rig.js';

/** Something that is done to the loop. */
interface Deed {
  readonly what: 'trigger' | 'stop' | 'reset' | 'complete' | 'break' | 'unsubscribe';
  readonly id: string;
}
/** How one run goes. */
interface Run {
  /** An Observable that takes no time ends while it is subscribed to. */
  readonly how: 'sync' | 'observable' | 'promise';
  readonly takes: number;
  readonly end: 'done' | 'requeue' | 'fail' | 'retry' | 'report' | 'terminal' | 'odd';
  readonly delay: number;
  /** What the reconciler does to the loop it is in. */
  readonly deeds: readonly Deed[];
}

const id = fc.constantFrom('a', 'b', 'c', 'd', '__proto__');
const deed = (...rare: readonly Deed['what'][]): fc.Arbitrary<Deed> =>
  fc.record({
    what: fc.oneof(
      { arbitrary: fc.constant('trigger' as const), weight: 12 },
      ...rare.map((what) => ({ arbitrary: fc.constant(what), weight: 1 })),
    ),
    id,
  });
const run: fc.Arbitrary<Run> = fc.record({
  how: fc.constantFrom('sync', 'observable', 'promise'),
  takes: fc.oneof(fc.constant(0), fc.nat(40)),
  end: fc.constantFrom('done', 'requeue', 'fail', 'fail', 'retry', 'report', 'terminal', 'odd'),
  delay: fc.nat(60),
  deeds: fc.array(deed('reset', 'stop'), { maxLength: 2 }),
});
const world = fc.record({
  config: fc.record({
    workerCount: fc.integer({ min: 1, max: 3 }),
    workerQueueSize: fc.integer({ min: 1, max: 3 }),
    delayQueueSize: fc.nat(3),
    maxItemRetries: fc.nat(3),
    delayResolution: fc.constantFrom(1, 5, 10),
    maxReconcileTime: fc.constantFrom(0, 10, 25),
    shutdownGrace: fc.constantFrom(0, 15, 1000),
  }),
  backoff: fc.nat(60),
  runs: fc.array(run, { maxLength: 25 }),
  /** What happens from outside, and how long after the deed before. */
  story: fc.array(fc.tuple(fc.nat(20), deed('stop', 'reset', 'complete', 'break', 'unsubscribe')), { maxLength: 25 }),
  /** What the observer does on seeing the nth step. */
  answers: fc.array(fc.tuple(fc.nat(40), deed('stop', 'reset', 'unsubscribe')), { maxLength: 3 }),
});

class World {
  readonly rig: Rig;
  readonly events: Trigger[] = [];
  /** How often S1 was broken. To throw here would be but a failing run. */
  overlaps = 0;
  /** The promises that have not settled. */
  open = 0;
  readonly #busy = new Set<string>();

  constructor(
    { config, backoff, answers }: { config: object; backoff: number; answers: readonly (readonly [number, Deed])[] },
    readonly runs: Run[],
  ) {
    const answer = (_: Step, { steps }: Rig): void => {
      for (const [nth, deed] of answers) if (nth === steps.length) this.do(deed);
    };
    this.rig = new Rig((id, context) => this.#run(id, context), { ...config, backoff: () => backoff }, answer);
  }

  do({ what, id }: Deed): void {
    const { rig } = this;
    if (what === 'stop' || what === 'reset') rig[what].next();
    else if (what === 'complete') rig.events.complete();
    else if (what === 'break') rig.events.error(new Error('source'));
    else if (what === 'unsubscribe') rig.subscription.unsubscribe();
    else if (rig.events.observed) {
      const event = { id };
      this.events.push(event);
      rig.events.next(event);
    }
  }

  #run(
    id: string,
    context: ReconcileContext,
  ): Observable<{ requeueDelay: number }> | Promise<undefined | { requeueDelay: number }> | undefined | { requeueDelay: number } {
    if (this.#busy.has(id) || context.id !== id) this.overlaps++;
    const { how, takes, end, delay, deeds } = this.runs.shift() ?? { how: 'sync', takes: 0, end: 'done', delay: 0, deeds: [] };
    const outcome = (): { requeueDelay: number } | undefined => {
      if (end === 'done') return undefined;
      if (end === 'requeue') return { requeueDelay: delay };
      if (end === 'report') return { error: new Error('reported') } as unknown as undefined;
      if (end === 'odd') return 'odd' as unknown as undefined;
      throw end === 'retry' ? new RetryError('later', delay) : end === 'terminal' ? new TerminalError('never') : new Error('no');
    };
    if (how === 'promise') {
      this.#busy.add(id);
      this.open++;
    }
    for (const deed of deeds) this.do(deed);
    if (how === 'sync') return outcome();
    if (how === 'observable')
      return concat(
        takes === 0 ? EMPTY : timer(takes, this.rig.clock).pipe(ignoreElements()),
        end === 'done' ? EMPTY : this.#emitted(outcome),
      );
    return new Promise((resolve, reject) => {
      this.rig.clock.schedule(() => {
        this.open--;
        this.#busy.delete(id);
        try {
          resolve(outcome());
        } catch (error) {
          reject(error);
        }
      }, takes * 2);
    });
  }

  #emitted(outcome: () => { requeueDelay: number } | undefined): Observable<{ requeueDelay: number }> {
    try {
      return of(outcome()!);
    } catch (error) {
      return throwError(() => error);
    }
  }
}

test('should keep every law in any world: S1, S2, A1 to A4, Q1 to Q3, R3, R4, E1, T1, and that state returns to zero', async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ story, runs, ...given }) => {
      const made = new World(given, [...runs]);
      const { rig, events } = made;
      for (const [after, deed] of story) {
        await rig.clock.pass(after);
        made.do(deed);
      }
      rig.events.complete();
      for (let i = 0; i < 500 && !rig.subscription.closed; i++) await rig.clock.pass(20);
      const cut = rig.subscription.closed && rig.end === undefined;

      expect(made.overlaps).toBe(0);
      if (!cut) expect(rig.end).toBeDefined();
      if (rig.end !== undefined && rig.end !== 'completed') expect(rig.end.error).toMatchObject({ message: 'source' });
      checkAccounting(rig.steps, cut ? undefined : events, !cut);
      checkQueues(rig.steps, rig.settings);
      checkRetries(rig.steps, rig.settings);
      expect(rig.clock.timers).toBe(made.open);
      if (!cut) expect(rig.left.ids).toBe(0);

      const { length } = rig.steps;
      await rig.clock.pass(200);
      expect(rig.steps).toHaveLength(length);
    }),
    { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 1000) },
  );
}, 600_000);
