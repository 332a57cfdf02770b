import type { Command, Requeued, Step, StepOf, Trigger } from 'kreconciler/operators';
import { Known, type Span } from './known.js';
import { PlaceLaws, type PlaceLimits } from './place-laws.js';

export interface Limits extends PlaceLimits {
  readonly delayResolution: number;
  readonly delayQueueSize: number;
  readonly workerQueueSize: number;
  readonly maxItemRetries: number;
  readonly cooldown: number;
}

/** Less than this many ms is lost where times that are no whole ms are added to a wall clock that is far from 0. */
const DUST = 1e-6;

/** A timer that seems less than this early by the clock waits for the rest: it may have been rounded, or the clock was set back as much. */
const ROUNDING = 1;

type Law = (name: string, holds: boolean) => void;

/** The laws of S, A, Q, T, E, W and C that can be seen in the steps of one process; a step that breaks one throws. */
export class StepLaws {
  readonly #ids = new Map<string, Known>();
  readonly #places: PlaceLaws;
  /** How far the clock has been ahead at most. */
  #ahead = 0;
  /** The moment of the last step. */
  #at = 0;
  #isLoopPaused = false;
  /** A mark that nobody serves: it was enqueued, and must be dropped at once. */
  #answered: string | undefined;
  /** The events that no step has told yet. */
  readonly #arrived: Trigger[] = [];

  constructor(readonly limits: Limits) {
    this.#places = new PlaceLaws(limits);
  }

  /** Nothing is left undone: no event is untold, and nobody waits who could run. */
  isAtRest(at: number): boolean {
    return this.#arrived.length === 0 && this.#undone(at) === undefined;
  }

  /** A2 to A4: everything that began is over. */
  get isIdle(): boolean {
    return this.#arrived.length === 0 && [...this.#ids.values()].every(({ state, isAbandoned }) => state === 'idle' && !isAbandoned);
  }

  /** The loop is about to be given an event. */
  arrive(trigger: Trigger): void {
    this.#arrived.push(trigger);
  }

  /** It is about to be given a command. */
  command(command: Command): void {
    const known = command.kind === 'discard' ? this.#ids.get(command.id) : undefined;
    if (known === undefined) return;
    known.isForced = false;
    if (known.state !== 'running') {
      known.rest = over(known.rest);
      return;
    }
    known.isDiscarded = true;
    known.hasDiscardedMark ||= known.isDirty;
    known.isDirty = false;
  }

  /** Its term is about to end. */
  reset(): void {
    for (const known of this.#ids.values()) known.rest = over(known.rest);
  }

  see(step: Step, at: number): void {
    const { id, kind, worker } = step;
    const known = this.#known(id, worker);
    const law: Law = (name, holds) => {
      if (!holds) throw new Error(`${name} does not hold for \`${id}\`: ${kind} at ${at}, ${JSON.stringify({ known, step })}`);
    };
    if (at > this.#at) {
      const undone = this.#undone(this.#at);
      law(undone ?? '', undone === undefined);
      this.#at = at;
    }
    // The step of an event is the next that is seen, so the events come in their order, and none is left out.
    law('A1: each event yields one step, which carries it', step.trigger === this.#arrived.shift());
    const isAnswer = kind === 'merged' || kind === 'rejected';
    law(
      'A1: what an event yields is enqueued, merged or rejected',
      step.trigger === undefined ? !isAnswer : isAnswer || (kind === 'enqueued' && step.reason === 'event'),
    );
    law('A1: its step tells of its id', step.trigger === undefined || step.trigger.id === id);
    law(
      'C2, C3: a mark that nobody serves is dropped at once',
      this.#answered === undefined || (kind === 'dropped' && id === this.#answered),
    );
    if (kind === 'rejected') {
      this.#rejected(step, known, law);
      return;
    }
    this.#ahead = Math.max(this.#ahead, step.at - at);
    // A clock that is set back between two readings cannot be seen to be: a wait may then join a tick that comes so much too early.
    const setBack = this.#ahead - (step.at - at);
    switch (kind) {
      case 'enqueued':
        this.#enqueued(step, known, at, setBack, law);
        break;
      case 'merged':
        this.#merged(step, known, at, law);
        break;
      case 'started':
        this.#started(step, known, at, law);
        break;
      case 'succeeded':
        this.#end(known, law);
        known.state = 'idle';
        known.failedAt = undefined;
        known.setBack = setBack;
        known.attempt = 0;
        known.rest = this.#restFrom(at, known);
        break;
      case 'requeued':
        this.#requeued(step, known, at, setBack, law);
        break;
      case 'dropped':
        this.#dropped(step, known, at, setBack, law);
        break;
      case 'abandoned':
        law('O2: an id is abandoned once', !known.isAbandoned);
        known.isAbandoned = true;
        known.due = undefined;
        break;
      case 'released':
        law('O2: only what was abandoned is released', known.isAbandoned);
        known.isAbandoned = false;
        known.due = undefined;
        break;
      case 'paused':
        law('C4: what is paused is not paused again', id === '' ? !this.#isLoopPaused : !known.isPaused);
        if (id === '') this.#isLoopPaused = true;
        else known.isPaused = true;
        if (known.state === 'ready') known.isParked = true;
        break;
      case 'resumed':
        law('C4: only what is paused is resumed', id === '' ? this.#isLoopPaused : known.isPaused);
        if (id === '') this.#isLoopPaused = false;
        else known.isPaused = false;
        this.#resumed(id === '' ? [...this.#ids.values()] : [known], at);
    }
    this.#places.look(
      [...this.#ids.values()],
      this.#isLoopPaused,
      kind === 'resumed' || (kind === 'enqueued' && step.trigger === undefined),
    );
  }

  #rejected(step: StepOf<'rejected'>, known: Known, law: Law): void {
    const isForced = step.trigger?.force === true;
    law('W6: a forced event is refused by a pause, and nothing else', isForced === (step.reason === 'paused'));
    if (isForced) law('W6: only what is paused refuses it', this.#isPaused(known));
    const ready = [...this.#ids.values()].filter((other) => other.worker === known.worker && (other.state === 'ready' || other.isDirty));
    law('Q1: refused without need', isForced || ready.length >= this.limits.workerQueueSize);
    law('Q1: one that is there is merged', isForced || known.state === 'idle' || known.state === 'waiting');
  }

  #enqueued(step: StepOf<'enqueued'>, known: Known, at: number, setBack: number, law: Law): void {
    const { trigger, reason } = step;
    law('S3: an id that is ready is there once', known.state === 'idle' || known.state === 'waiting');
    law('A4: only what waits is woken', reason === 'event' || known.state === 'waiting');
    if (this.#isPaused(known) || known.isAbandoned || (known.hasDiscardedMark && known.state === 'idle')) {
      law('C1: an event does not make it ready', trigger === undefined);
      this.#answered = known.id;
      return;
    }
    if (trigger?.force === true) known.isForced = true;
    if (reason !== 'event' && known.due !== undefined) {
      law('T1: a wake-up is never early', at >= known.due.from - DUST);
      law('T1: a wake-up is at most a tick late', at <= known.due.to + (setBack > 0 ? ROUNDING : 0) + DUST);
    }
    if (!known.isForced) {
      law('W5: a rest lasts as long as it should', known.rest === undefined || at >= known.rest.from - DUST);
      const isRetry = known.state === 'waiting' && known.failedAt !== undefined && reason === 'event';
      law('W8: what says nothing new pulls no retry forward', !isRetry || (trigger === undefined ? known.hasNews : isNews(trigger)));
    }
    known.state = 'ready';
    known.due = known.rest = undefined;
    known.isDirty = known.isParked = false;
    this.#places.join(known);
  }

  #merged({ trigger }: StepOf<'merged'>, known: Known, at: number, law: Law): void {
    const isResting = known.rest !== undefined && at <= known.rest.to + DUST;
    const isPaused = this.#isPaused(known);
    law(
      'S2: only an id that will run anyway absorbs events',
      known.state !== 'idle' || known.isAbandoned || known.failedAt !== undefined || isResting || isPaused,
    );
    law('W6: a forced event is refused by a pause', trigger?.force !== true || !isPaused);
    if (known.state === 'running' || known.isAbandoned || known.state === 'idle' || (known.state === 'waiting' && isPaused))
      known.isDirty = true;
    if (trigger !== undefined && isNews(trigger)) known.hasNews = true;
    if (trigger?.force !== true) return;
    if (known.state === 'ready' && !known.isForced) this.#places.join(known);
    known.isForced = true;
  }

  #started(step: StepOf<'started'>, known: Known, at: number, law: Law): void {
    const { delayResolution } = this.limits;
    law('A2: what starts was enqueued', known.state === 'ready');
    law('S1: an abandoned id does not start', !known.isAbandoned);
    law('C1: what is paused starts nothing', !this.#isPaused(known));
    law('R3: an attempt too far', step.attempt <= known.attempt + 1);
    law(
      'E1: no run within the resolution after a failure',
      known.isForced || known.failedAt === undefined || at - known.failedAt >= delayResolution - known.setBack - DUST,
    );
    this.#places.start(known, [...this.#ids.values()], law);
    known.state = 'running';
    known.attempt = step.attempt;
    known.hasForcedRun = known.isForced;
    known.isDirty = known.isForced = known.hasNews = known.isDiscarded = false;
  }

  #requeued(step: Requeued, known: Known, at: number, setBack: number, law: Law): void {
    const { delayResolution, delayQueueSize, maxItemRetries, cooldown } = this.limits;
    const { failure, delay } = step;
    this.#end(known, law);
    law('C3: what was discarded does not wait', !known.isDiscarded);
    law('W5: a rest is part of the delay', failure !== undefined || delay >= cooldown);
    law('E1: a delay is the resolution at least', failure === undefined || known.isForced || delay >= delayResolution);
    if (failure === 'superseded') law('W7: only a newer event supersedes, which is no error', known.hasNews && !('error' in step));
    known.state = 'waiting';
    known.failedAt = failure === undefined ? undefined : at;
    known.setBack = setBack;
    known.isDirty = false;
    known.attempt = failure === undefined ? 0 : failure === 'superseded' ? step.attempt - 1 : step.attempt;
    // What is left until an earlier deadline is told by the wall clock, so once that was set it is no measure.
    known.due = step.at !== at || known.isForced ? undefined : { from: at + delay - setBack, to: at + delay + delayResolution };
    if (failure === undefined) known.rest = this.#restFrom(at, known);
    const waiting = [...this.#ids.values()].filter((other) => other.state === 'waiting' && other.worker === known.worker).length;
    law('Q3: the waiting set is bounded', failure === 'superseded' || waiting <= delayQueueSize);
    law('A3: a failure beyond the budget is dropped', failure === undefined || step.attempt <= maxItemRetries + 1);
  }

  #dropped(step: StepOf<'dropped'>, known: Known, at: number, setBack: number, law: Law): void {
    const { reason, failure } = step;
    const isGivenUp = reason === 'stopped' || reason === 'discarded';
    if (this.#answered !== undefined) {
      this.#answered = undefined;
      law('C2, C3: nobody says why a mark is not served', isGivenUp);
      // The mark of before a discard; what came after that stands.
      if (known.hasDiscardedMark) {
        known.hasDiscardedMark = false;
      } else {
        known.isDirty = known.isForced = false;
        known.failedAt = known.state === 'idle' ? undefined : known.failedAt;
      }
      return;
    }
    const isRun = known.state === 'running';
    if (isRun) this.#end(known, law);
    else law('A4: what is dropped without a run was stopped or discarded', isGivenUp && known.state !== 'idle');
    law('C3: a run that was discarded is dropped as such', !isRun || !known.isDiscarded || isGivenUp || failure === undefined);
    law('A3: a budget is spent before it is said to be', reason !== 'retries' || step.attempt > this.limits.maxItemRetries);
    known.state = 'idle';
    known.due = known.rest = undefined;
    known.attempt = 0;
    // R4: forgotten, unless it is dirty: then it cools down first.
    known.failedAt = known.isDirty && failure !== undefined ? at : undefined;
    known.setBack = setBack;
    // A mark that is dropped as well has two steps of its own, which follow.
    if (!isRun) known.isForced = known.isDirty = false;
  }

  #resumed(ids: readonly Known[], at: number): void {
    for (const known of ids) {
      if (this.#isPaused(known)) continue;
      if (known.due !== undefined) known.due = { ...known.due, to: Math.max(known.due.to, at) };
      known.isParked &&= known.state === 'ready';
      if (known.isParked) this.#places.joinTogether(known);
      known.isParked = false;
    }
  }

  /** The law that is broken, if time goes on now. */
  #undone(at: number): string | undefined {
    const { delayResolution } = this.limits;
    const ids = [...this.#ids.values()];
    const unfair = this.#places.undone(ids, this.#isLoopPaused);
    if (unfair !== undefined) return unfair;
    for (const known of ids) {
      if (this.#isPaused(known) || known.isAbandoned) continue;
      if (known.state === 'waiting' && known.due !== undefined && at > known.due.to + ROUNDING + DUST)
        return `T1: \`${known.id}\` is woken`;
      if (known.state !== 'idle' || !known.isDirty) continue;
      // One that was dropped waits out its embargo first, which ends with a tick.
      const until = Math.max(known.rest?.to ?? -Infinity, known.failedAt === undefined ? -Infinity : known.failedAt + 2 * delayResolution);
      if (at > until + ROUNDING + DUST) return `S2, C1, W5: the mark of \`${known.id}\` is served`;
    }
    return undefined;
  }

  #restFrom(at: number, { isDiscarded, setBack }: Known): Span | undefined {
    const { cooldown, delayResolution } = this.limits;
    if (cooldown === 0 || isDiscarded) return undefined;
    return { from: at + cooldown - setBack, to: at + cooldown + delayResolution };
  }

  #isPaused({ isPaused }: Known): boolean {
    return isPaused || this.#isLoopPaused;
  }

  #end(known: Known, law: Law): void {
    law('A3: what ends has started', known.state === 'running');
  }

  #known(id: string, worker: number): Known {
    let known = this.#ids.get(id);
    if (known === undefined) this.#ids.set(id, (known = new Known(id, worker)));
    return known;
  }
}

/** It may have ended by now; a mark of before still has that long. */
function over(rest: Span | undefined): Span | undefined {
  return rest === undefined ? undefined : { from: -Infinity, to: rest.to };
}

function isNews({ priority }: Trigger): boolean {
  return priority === undefined || !(priority < 0);
}
