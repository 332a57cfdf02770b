import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type Backoff, byPriority, constant, exponential, RetryError, type Step, TerminalError, type Trigger } from 'kreconciler/operators';
import type { WorkqueueConfig } from '../../operators/workqueue.js';
import { expect, it } from 'vitest';
import { DrivenWorkqueue, REMEMBERED, RESOLUTION } from '../support/driven-workqueue.js';
import { brokenLaws } from '../support/workqueue-laws.js';
import { WorkqueueModel } from '../support/workqueue-model.js';

/** What a run may fail with, and what R2 makes of it. */
const failures: readonly { readonly error: unknown; readonly retryDelay?: number; readonly terminal?: boolean }[] = [
  { error: new Error('broken') },
  { error: undefined },
  { error: null },
  { error: new RetryError('now', 0), retryDelay: 0 },
  { error: new RetryError('soon', 130), retryDelay: 130 },
  { error: new RetryError('later', 470), retryDelay: 470 },
  { error: { retryDelay: 250 }, retryDelay: 250 },
  { error: new Error('outer', { cause: new RetryError('inner', 200) }), retryDelay: 200 },
  { error: new RetryError('odd', NaN) },
  { error: new RetryError('odd', -1) },
  { error: new TerminalError('no'), terminal: true },
  { error: new Error('outer', { cause: new TerminalError('no') }), terminal: true },
];

const backoffs: readonly Backoff[] = [
  constant(0),
  constant(150),
  constant(1000),
  exponential({ initial: RESOLUTION, jitter: 0 }),
  () => NaN,
  () => {
    throw new Error('no backoff');
  },
];

/** Of `byPriority`; `undefined`: first come, first served. */
const ageings = fc.constantFrom(undefined, 100, 1000);

const configs: fc.Arbitrary<WorkqueueConfig> = fc.record({
  cooldown: fc.constantFrom(0, 0, 50, 250),
  maxItemRetries: fc.constantFrom(0, 1, 2, Infinity),
  workerQueueSize: fc.constantFrom(1, 2, Infinity),
  delayQueueSize: fc.constantFrom(0, 1, 2, Infinity),
  delayResolution: fc.constant(RESOLUTION),
  backoff: fc.constantFrom(...backoffs),
});

const id = fc.constantFrom('a', 'b', 'c', 'd');
const stream = fc.constantFrom(undefined, 's', 't');
const priority = fc.constantFrom(undefined, undefined, 0, 2, -1, -1.5, 10);
const force = fc.constantFrom(undefined, undefined, undefined, true);
const which = fc.nat(3);
const failure = fc.nat(failures.length - 1);
const command = fc.oneof(
  { weight: 60, arbitrary: fc.record({ does: fc.constant('offer'), id, stream, priority, force }) },
  { weight: 50, arbitrary: fc.record({ does: fc.constant('start') }) },
  { weight: 20, arbitrary: fc.record({ does: fc.constant('succeed'), which, requeueDelay: fc.constantFrom(0, 0, 1, 100, 240) }) },
  { weight: 30, arbitrary: fc.record({ does: fc.constant('fail'), which, failure }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('supersede'), which }) },
  { weight: 12, arbitrary: fc.record({ does: fc.constant('abandon'), which, failure }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('pause'), id: fc.option(id, { nil: undefined, freq: 4 }) }) },
  { weight: 16, arbitrary: fc.record({ does: fc.constant('resume'), id: fc.option(id, { nil: undefined, freq: 2 }) }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('discard'), id }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('dropPaused') }) },
  { weight: 20, arbitrary: fc.record({ does: fc.constant('release'), which: fc.nat(3) }) },
  { weight: 25, arbitrary: fc.record({ does: fc.constant('advance'), ms: fc.nat(350) }) },
  { weight: 25, arbitrary: fc.record({ does: fc.constant('advanceToNextWake') }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('reset'), open: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('move') }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('reopen') }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('stop') }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('giveUp') }) },
);
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

/** The workqueue and its model, to which the same things happen. */
class Pair {
  readonly driven: DrivenWorkqueue;
  readonly model: WorkqueueModel;
  #offers = 0;
  /** Refused, and no history has them: their ids were idle. */
  readonly #refused = new Set<Trigger>();
  /** Its sources have been let go (P2). */
  #stopped = false;

  /** It has gone to another process (H5). */
  #moved = false;

  /** @param isPlain - nothing is used but what a loop has by default */
  constructor(
    readonly config: WorkqueueConfig,
    readonly isPlain: boolean,
    readonly concurrency = 1,
    ageing?: number,
  ) {
    const known = (error: unknown) => failures.find((each) => Object.is(each.error, error));
    this.driven = new DrivenWorkqueue(ageing === undefined ? config : { ...config, order: byPriority({ ageing }) });
    this.model = new WorkqueueModel(
      config,
      (error) => known(error)?.retryDelay,
      (error) => known(error)?.terminal === true,
      ageing,
    );
  }

  /** Whatever cannot happen in this state does not. */
  do(command: Command): void {
    const { driven, model } = this;
    const at = driven.now;
    const run = 'which' in command ? model.running[command.which % model.running.length] : undefined;
    switch (command.does) {
      case 'offer': {
        if (this.#stopped || this.#moved) return;
        const { does, ...asked } = command;
        const trigger = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as unknown as Trigger;
        this.#offers++;
        if (!model.ids.has(trigger.id)) this.#refused.add(trigger);
        equal(`supersedes, by ${does}`, driven.queue.offer(trigger, at)?.id === trigger.id, model.offer(trigger, at));
        break;
      }
      case 'start':
        if (model.running.length >= this.concurrency) return;
        driven.start();
        model.start(at);
        break;
      case 'succeed': {
        if (run === undefined) return;
        const { requeueDelay } = command;
        driven.succeed(requeueDelay, run);
        model.succeed(run, requeueDelay, at);
        break;
      }
      case 'supersede':
        if (run === undefined || model.ids.get(run)?.dirty === undefined) return;
        driven.queue.fail(driven.running(run), { failure: 'superseded', error: undefined }, at);
        model.fail(run, { failure: 'superseded', error: undefined }, at, false);
        break;
      case 'fail':
      case 'abandon': {
        if (run === undefined) return;
        const { error } = failures[command.failure]!;
        if (command.does === 'fail') driven.queue.fail(driven.running(run), { failure: 'thrown', error }, at);
        else driven.abandonRun(run, error);
        model.fail(run, { failure: command.does === 'fail' ? 'thrown' : 'timeout', error }, at, command.does === 'abandon');
        break;
      }
      case 'pause':
        driven.pause(command.id);
        model.pause(command.id);
        break;
      case 'resume':
        driven.resume(command.id);
        model.resume(command.id, at);
        break;
      case 'discard':
        driven.discard(command.id);
        model.discard(command.id, at);
        break;
      case 'dropPaused':
        driven.queue.dropPaused(at);
        model.dropPaused(at);
        break;
      case 'move':
        if (this.#stopped) return;
        this.#moved = true;
        driven.queue.close('moved', at);
        model.close('moved', at);
        break;
      case 'reopen':
        if (this.#stopped || !this.#moved) return;
        this.#moved = false;
        driven.queue.reopen();
        model.reopen();
        break;
      case 'release': {
        const { abandoned } = model;
        const name = abandoned[command.which % abandoned.length];
        if (name === undefined) return;
        driven.release(name);
        model.release(name, at);
        break;
      }
      case 'advance':
        this.#advance(command.ms);
        break;
      case 'advanceToNextWake':
        if (model.nextWake === undefined) return;
        this.#advance(model.nextWake - at);
        break;
      case 'reset': {
        const { open } = command;
        driven.reset(open);
        model.reset(at, open);
        break;
      }
      case 'stop':
        this.#stopped = true;
        driven.stop();
        model.close('stopped', at);
        break;
      case 'giveUp':
        this.#stopped = true;
        driven.giveUp();
        model.giveUp(at);
    }
    this.#compare(command);
  }

  /** Lets everything come to its end, as a loop does whose sources are complete. */
  drain(): void {
    const { driven, model } = this;
    this.#compareHistories();
    this.do({ does: 'resume', id: undefined });
    for (const id of [...model.paused]) this.do({ does: 'resume', id: id as 'a' });
    for (let left = 1000; model.ids.size > 0; left--) {
      if (left === 0) throw new Error('It never comes to an end');
      if (model.abandoned.length > 0) this.do({ does: 'release', which: 0 });
      else if (model.running.length > 0) this.do({ does: 'succeed', which: 0, requeueDelay: 0 });
      else if (model.hasReady) this.do({ does: 'start' });
      else this.do({ does: 'advanceToNextWake' });
    }
    const { size, abandoned, running, hasReady } = driven.queue;
    equal(
      'B3: what is left',
      { size, abandoned, running, hasReady, armed: driven.armed.size },
      { size: 0, abandoned: 0, running: 0, hasReady: false, armed: 0 },
    );
    this.#compareHistories();
    const events = driven.steps.filter(({ trigger }) => trigger !== undefined);
    equal('A1: steps of events', events.length, this.#offers);
    equal('broken laws', brokenLaws(driven.steps, this.config, true, this.concurrency, this.isPlain), []);
  }

  /** The last steps of each id, idle or not. */
  #compareHistories(): void {
    const { driven } = this;
    for (const id of ['a', 'b', 'c', 'd']) {
      const steps = driven.steps.filter(
        (step) => step.id === id && !(step.kind === 'rejected' && step.trigger !== undefined && this.#refused.has(step.trigger)),
      );
      const history = driven.history.of(id, driven.queue.entries.get(id), 0);
      equal(`history of ${id}`, history, steps.slice(-REMEMBERED).map(remembered));
    }
  }

  #advance(ms: number): void {
    this.driven.advance(ms);
    this.model.wake(this.driven.now);
  }

  #compare({ does }: Command): void {
    const { driven, model } = this;
    // In which order a stop drops the ids that wait is nobody's business.
    const told = ['stop', 'reset', 'giveUp', 'move', 'resume', 'dropPaused'].includes(does) ? byId : (steps: readonly Step[]) => steps;
    equal(`steps of ${does}`, told(driven.take()), told(model.steps as unknown as Step[]));
    model.steps = [];
    const { queue } = driven;
    this.#compareTicks();
    equal(
      `state after ${does}`,
      {
        ids: stateOf(queue.entries.values()),
        size: queue.size,
        running: driven.allRunning.map(({ id }) => id).sort(),
        resting: queue.resting,
        ready: queue.ready,
        hasReady: queue.hasReady,
        abandoned: queue.abandoned,
      },
      {
        ids: stateOf([...model.ids].map(([id, { state }]) => ({ id, state }))),
        size: model.ids.size,
        running: model.running.sort(),
        resting: model.resting,
        ready: [...model.ids.values()].filter(({ state }) => state === 'ready').length,
        hasReady: model.hasReady,
        abandoned: model.abandoned.length,
      },
    );
  }

  /** T2: a timer for each moment at which someone is woken, one only, and none that nobody needs. */
  #compareTicks(): void {
    const armed = [...this.driven.armed].map(({ due }) => due);
    const ids = [...this.model.ids.values()];
    const wakes = new Set(ids.flatMap(({ wake }) => (wake === undefined ? [] : [wake.at])));
    const needed = new Set([...wakes, ...ids.flatMap(({ embargo, deadline }) => [embargo, deadline])]);
    equal('ticks armed twice', new Set(armed).size, armed.length);
    equal(
      'ticks not armed',
      [...wakes].filter((due) => !armed.includes(due)),
      [],
    );
    equal(
      'ticks that nobody needs',
      armed.filter((due) => !needed.has(due)),
      [],
    );
  }
}

function stateOf(ids: Iterable<{ readonly id: string; readonly state: string }>): Record<string, string> {
  return Object.fromEntries([...ids].map(({ id, state }) => [id, state]));
}

/** A step as a history has it: of its event the stream is left. */
function remembered({ trigger, ...step }: Step): unknown {
  return { ...step, ...(trigger?.stream !== undefined && { stream: trigger.stream }) };
}

function byId(steps: readonly Step[]): Step[] {
  return [...steps].sort((a, b) => a.id.localeCompare(b.id));
}

/** `expect` takes its time, and this is asked a million times. */
function equal(what: string, actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) expect(actual, what).toStrictEqual(wanted);
}

const runs = (numRuns: number) =>
  // A mutant dies early or never, and needs no smallest counterexample.
  process.env['STRYKER_MUTATOR_WORKER'] === undefined ? { numRuns } : { numRuns: numRuns / 10, endOnFailure: true };

const more = ['pause', 'resume', 'discard', 'dropPaused', 'move', 'reopen', 'supersede'];
const plain = command
  .filter(({ does }) => !more.includes(does))
  .map((command) => (command.does === 'offer' ? { ...command, priority: undefined, force: undefined } : command));

it('should do what the table and the laws say, whatever happens', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(configs, fc.array(plain, { maxLength: 80, size: 'max' }), (config, commands) => {
      const pair = new Pair({ ...config, cooldown: 0 }, true);
      for (const command of commands) pair.do(command);
      pair.drain();
    }),
    runs(10_000),
  );
});

it('W, C should do what the laws say with several runs, orders, rests, priorities, force, commands and moves', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(
      configs,
      fc.integer({ min: 1, max: 3 }),
      ageings,
      fc.array(command, { maxLength: 80, size: 'max' }),
      (config, concurrency, ageing, commands) => {
        const pair = new Pair(config, false, concurrency, ageing);
        for (const command of commands) pair.do(command);
        pair.drain();
      },
    ),
    runs(10_000),
  );
});
