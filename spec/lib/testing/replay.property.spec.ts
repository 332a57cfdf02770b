import fc from 'fast-check';
import {
  type Backoff,
  byPriority,
  type Command,
  constant,
  fair,
  fifo,
  reconcile,
  type ReconcileConfig,
  type Reconciler,
  type Result,
  RetryError,
  type Step,
  TerminalError,
  type Trigger,
} from 'kreconciler/operators';
import { journal, replay, virtualTime } from 'kreconciler/testing';
import { defer, from, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';

const ids = ['web', 'db', 'cache', 'queue'];
const ends = ['well', 'requeued', 'soon', 'thrown', 'reported', 'invalid', 'later', 'terminal', 'superseded'] as const;

/** What a run does: how long it takes, how it ends, what it is, and which id it asks for before it returns. */
const run = fc.record({
  took: fc.constantFrom(0, 0, 1, 20, 250, 300, 700),
  ends: fc.constantFrom(...ends),
  form: fc.constantFrom('sync', 'promise', 'promise', 'observable'),
  asks: fc.option(fc.constantFrom(...ids), { freq: 6, nil: undefined }),
});
type Run = typeof run extends fc.Arbitrary<infer T> ? T : never;

type Act = Trigger | Command | 'reset' | 'stop';

const event = fc.record({ id: fc.constantFrom(...ids), stream: fc.constant('files') });
const urgent = fc.record({
  id: fc.constantFrom(...ids),
  stream: fc.constant('files'),
  priority: fc.constantFrom(-1, 5),
  force: fc.constantFrom(true, false, false),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constantFrom('pause', 'resume', 'discard'), id: fc.constantFrom(...ids) }),
  fc.record({ kind: fc.constantFrom('pause', 'resume') }),
  fc.constant({ kind: 'pause', id: '' } as const),
);
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: event },
  { weight: 4, arbitrary: urgent },
  { weight: 4, arbitrary: command },
  { weight: 1, arbitrary: fc.constantFrom('reset', 'stop') },
);

/** What happens to the loop from outside. */
const happening = fc.record({
  at: fc.oneof(
    fc.nat(3000),
    fc.nat(12).map((ticks) => ticks * 250),
  ),
  what: act,
});

/** What an observer does as soon as it sees a step. No command: a journal shows when one was obeyed, not when it was given. */
const reaction = fc.record({
  kind: fc.constantFrom('enqueued', 'started', 'succeeded', 'requeued', 'dropped'),
  id: fc.constantFrom(...ids),
  what: fc.oneof(event, urgent, fc.constantFrom<Act>('reset', 'stop')),
});

const config = fc.record({
  workerCount: fc.constantFrom(1, 1, 2, 3),
  workerConcurrency: fc.constantFrom(1, 1, 2, 3, Infinity),
  concurrency: fc.constantFrom(Infinity, Infinity, 1, 2),
  cooldown: fc.constantFrom(0, 0, 130, 900),
  workerQueueSize: fc.constantFrom(1, 2, 100),
  delayQueueSize: fc.constantFrom(0, 1, 2, 100),
  maxItemRetries: fc.constantFrom(0, 1, 3, Infinity),
  maxReconcileTime: fc.constantFrom(0, 270, 410),
  delayResolution: fc.constantFrom(1, 100, 250),
  shutdownGrace: fc.constantFrom(0, 500, 30_000),
});

/** Ones without chance, as a journal cannot hold them. */
const backoff = fc.constantFrom<Backoff>(constant(1), constant(400), (failures) => 200 * failures);

/** A journal holds no functions, so an order is given to the replay again. */
const order = fc.constantFrom(
  fifo,
  byPriority({ ageing: 1000 }),
  fair({ key: (id) => id.slice(0, 1), concurrency: 1 }),
  fair({ key: (id) => id.slice(-1), within: byPriority() }),
);

const life = fc.record({
  config,
  order,
  backoff,
  happenings: fc.array(happening, { maxLength: 16 }),
  runs: fc.array(run, { minLength: 1, maxLength: 12 }),
  reactions: fc.array(reaction, { maxLength: 2 }),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

function answer(end: Run['ends'], superseded: AbortSignal): Result {
  switch (end) {
    case 'well':
      return {};
    case 'requeued':
      return { requeueDelay: 700 };
    case 'soon':
      return { requeueDelay: 1 };
    case 'reported':
      return { error: new Error('reported') };
    case 'superseded':
      superseded.throwIfAborted();
      return {};
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
function record({ config, order, backoff, happenings, runs, reactions }: Life): Promise<{ lines: string[]; steps: Step[] }> {
  return virtualTime(async (clock) => {
    const [events, commands] = [new Subject<Trigger>(), new Subject<Command>()];
    const [reset, stop] = [new Subject<void>(), new Subject<void>()];
    const act = (what: Act): void => {
      if (what === 'reset') reset.next();
      else if (what === 'stop') stop.next();
      else if ('kind' in what) commands.next(what);
      else events.next(what);
    };
    let count = 0;
    // What a lane does in the middle of what another does, at a moment at which a timer of a third fires, no journal shows.
    const isAlone = config.workerCount === 1;
    const reconciler: Reconciler = (_, context) => {
      const { took, ends, form, asks } = runs[count++ % runs.length]!;
      if (asks !== undefined && isAlone && count < 50) act({ id: asks, stream: 'files' });
      if (form === 'sync') return answer(ends, context.superseded);
      const promise = async () => {
        await (took === 0 ? undefined : clock.sleep(took));
        return answer(ends, context.superseded);
      };
      return form === 'promise' ? promise() : defer(() => from(promise()));
    };
    const steps: Step[] = [];
    const lines: string[] = [];
    // Nor a reset that ends nothing but a rest, if the next event comes in the same ms.
    const left = new Set(isAlone ? reactions.filter(({ what }) => what !== 'reset' || config.cooldown === 0) : []);
    const settings: ReconcileConfig = { ...config, order, commands, backoff, reset, stop, scheduler: clock.scheduler };
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
      // Nor what comes from outside at a moment at which timers of several lanes fire: it comes between two of them.
      await clock.advance(Math.max(at + (isAlone ? 0 : 0.25) - clock.now(), 0));
      act(what);
    }
    await clock.advance(6000 - clock.now());
    loop.unsubscribe();
    for (const step of steps) recorded.next(step);
    return { lines, steps };
  });
}

const isCut = (step: Step): boolean => step.kind === 'dropped' && step.reason === 'stopped' && step.failure === undefined;

/** In which order several runs of a worker are cut off together is nobody's business: here by their ids. */
function inOrder(steps: readonly Step[]): Step[] {
  const ordered: Step[] = [];
  for (let i = 0; i < steps.length;) {
    const cuts: Step[][] = [];
    for (
      let cut = steps[i];
      cut !== undefined && isCut(cut) && 'took' in cut && cut.at === steps[i]!.at;
      cut = steps[i + cuts.flat().length]
    ) {
      const from = i + cuts.flat().length;
      const { id, at, worker } = cut;
      if (cuts.length > 0 && worker !== cuts[0]![0]!.worker) break;
      let to = from + 1;
      while (steps[to]?.id === id && steps[to]?.at === at && ['abandoned', 'enqueued', 'dropped'].includes(steps[to]!.kind)) to++;
      cuts.push(steps.slice(from, to));
    }
    if (cuts.length === 0) ordered.push(steps[i++]!);
    i += cuts.flat().length;
    ordered.push(...cuts.sort(([a], [b]) => (a!.id < b!.id ? -1 : 1)).flat());
  }
  return ordered;
}

/** The same from the first step on, but for what a journal does not hold. */
const told = (steps: readonly Step[]): string[] =>
  inOrder(steps).map(({ at, trigger, ...step }) => {
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
        const again = await replay(lines, { config: { backoff: life.backoff, order: life.order } });
        expect(firstDifference(told(again.steps), told(steps))).toBe('');
      }),
      { numRuns, seed: Number(process.env['SEED'] ?? 1) },
    );
  }, 600_000);
});
