import fc from 'fast-check';
import {
  type Backoff,
  constant,
  reconcile,
  type ReconcileConfig,
  type Reconciler,
  type Result,
  RetryError,
  type Step,
  TerminalError,
} from 'kreconciler/operators';
import { journal, replay, virtualTime } from 'kreconciler/testing';
import { defer, from, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';

const ids = ['web', 'db', 'cache', 'queue'];
const ends = ['well', 'requeued', 'soon', 'thrown', 'reported', 'invalid', 'later', 'terminal'] as const;

/** What a run does: how long it takes, how it ends, what it is, and which id it asks for before it returns. */
const run = fc.record({
  took: fc.constantFrom(0, 0, 1, 20, 250, 300, 700),
  ends: fc.constantFrom(...ends),
  form: fc.constantFrom('sync', 'promise', 'promise', 'observable'),
  asks: fc.option(fc.constantFrom(...ids), { freq: 6, nil: undefined }),
});
type Run = typeof run extends fc.Arbitrary<infer T> ? T : never;

/** What happens to the loop from outside. */
const happening = fc.record({
  at: fc.oneof(
    fc.nat(3000),
    fc.nat(12).map((ticks) => ticks * 250),
  ),
  what: fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: fc.constantFrom('reset', 'stop') }),
});

/** What an observer does as soon as it sees a step. */
const reaction = fc.record({
  kind: fc.constantFrom('enqueued', 'started', 'succeeded', 'requeued', 'dropped'),
  id: fc.constantFrom(...ids),
  what: fc.constantFrom(...ids, 'reset', 'stop'),
});

const config = fc.record({
  workerCount: fc.constantFrom(1, 1, 2, 3),
  workerQueueSize: fc.constantFrom(1, 2, 100),
  delayQueueSize: fc.constantFrom(0, 1, 2, 100),
  maxItemRetries: fc.constantFrom(0, 1, 3, Infinity),
  maxReconcileTime: fc.constantFrom(0, 270, 410),
  delayResolution: fc.constantFrom(1, 100, 250),
  shutdownGrace: fc.constantFrom(0, 500, 30_000),
});

/** Ones without chance, as a journal cannot hold them. */
const backoff = fc.constantFrom<Backoff>(constant(1), constant(400), (failures) => 200 * failures);

const life = fc.record({
  config,
  backoff,
  happenings: fc.array(happening, { maxLength: 16 }),
  runs: fc.array(run, { minLength: 1, maxLength: 12 }),
  reactions: fc.array(reaction, { maxLength: 2 }),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

function answer(end: Run['ends']): Result {
  switch (end) {
    case 'well':
      return {};
    case 'requeued':
      return { requeueDelay: 700 };
    case 'soon':
      return { requeueDelay: 1 };
    case 'reported':
      return { error: new Error('reported') };
    case 'invalid':
      return 'odd' as unknown as Result;
    case 'thrown':
      throw new Error('thrown');
    case 'later':
      throw new RetryError('later', 600);
    case 'terminal':
      throw new TerminalError('terminal');
  }
}

/** Lives it in virtual time, and keeps the journal. */
function record({ config, backoff, happenings, runs, reactions }: Life): Promise<{ lines: string[]; steps: Step[] }> {
  return virtualTime(async (clock) => {
    const [events, reset, stop] = [new Subject<{ id: string; stream: string }>(), new Subject<void>(), new Subject<void>()];
    const act = (what: string): void => {
      if (what === 'reset') reset.next();
      else if (what === 'stop') stop.next();
      else events.next({ id: what, stream: 'files' });
    };
    let count = 0;
    // What a lane does in the middle of what another does, at a moment at which a timer of a third fires, no journal shows.
    const isAlone = config.workerCount === 1;
    const reconciler: Reconciler = () => {
      const { took, ends, form, asks } = runs[count++ % runs.length]!;
      if (asks !== undefined && isAlone && count < 50) act(asks);
      if (form === 'sync') return answer(ends);
      const promise = async () => {
        await (took === 0 ? undefined : clock.sleep(took));
        return answer(ends);
      };
      return form === 'promise' ? promise() : defer(() => from(promise()));
    };
    const steps: Step[] = [];
    const lines: string[] = [];
    const left = new Set(isAlone ? reactions : []);
    const settings: ReconcileConfig = { ...config, backoff, reset, stop, scheduler: clock.scheduler };
    const loop = events.pipe(reconcile(reconciler, settings)).subscribe((step) => {
      steps.push(step);
      for (const reaction of left) {
        if (reaction.kind !== step.kind || reaction.id !== step.id) continue;
        left.delete(reaction);
        act(reaction.what);
      }
    });
    const recorded = new Subject<Step>();
    recorded.pipe(journal(config)).subscribe((line) => lines.push(line));
    for (const { at, what } of happenings.sort((a, b) => a.at - b.at)) {
      await clock.advance(at - clock.now());
      act(what);
    }
    await clock.advance(6000 - clock.now());
    loop.unsubscribe();
    for (const step of steps) recorded.next(step);
    return { lines, steps };
  });
}

/** The same from the first step on, but for what a journal does not hold. */
const told = (steps: readonly Step[]): string[] =>
  steps.map(({ at, trigger, ...step }) => {
    const more = {
      ...step,
      ...('delay' in step ? { delay: Math.ceil(step.delay) } : {}),
      ...('error' in step ? { error: undefined } : {}),
    };
    return `${String(at - steps[0]!.at)} ${trigger?.id ?? ''} ${JSON.stringify(more)}`;
  });

/** What was told up to the first difference, and what then; `''` if there is none. */
function firstDifference(again: readonly string[], before: readonly string[]): string {
  const first = Array.from({ length: Math.max(again.length, before.length) }, (_, i) => i).find((i) => again[i] !== before[i]);
  if (first === undefined) return '';
  return [
    'the same:',
    ...before.slice(0, first),
    'recorded:',
    ...before.slice(first, first + 3),
    'replayed:',
    ...again.slice(first, first + 3),
  ].join('\n');
}

// `RUNS=5000 npx vitest run spec/lib/testing/replay.property.spec.ts` goes further.
const numRuns = Number(process.env['RUNS'] ?? 200);

describe('replay', () => {
  it(`should live ${String(numRuns)} recorded lives again as they were`, async () => {
    await fc.assert(
      fc.asyncProperty(life, async (life) => {
        const { lines, steps } = await record(life);
        const again = await replay(lines, { config: { backoff: life.backoff } });
        expect(firstDifference(told(again.steps), told(steps))).toBe('');
      }),
      { numRuns, seed: Number(process.env['SEED'] ?? 1) },
    );
  }, 600_000);
});
