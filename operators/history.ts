import type { Enqueued, Merged, Reason, Rejected, Started, Step, Succeeded } from './types.js';

/** How many ids that are idle again are remembered. */
const FINISHED = 1_000;

/** A step without its trigger, of which the name of the event stream is left: on `enqueued` by an event, `merged` and `rejected`. */
export type HistoryStep = Step & { readonly stream?: string };

/** What a {@link History} needs of an id that is not idle. */
export interface Remembered {
  readonly id: string;
  readonly state: string;
  readonly reason: Reason;
  readonly streams: readonly string[];
  readonly since: number;
  log?: Log | undefined;
}

/**
 * The last steps of one id, from when it was idle to when it is so again. A first run that ended well is written down by its fields: most
 * ids do no more, and if steps were kept by the thousand, V8 would come to allocate all of them as if they lived for long.
 */
export class Log {
  endedAt = 0;
  took = -1;
  /** Once there is anything else: all there is. */
  all: HistoryStep[] | undefined = undefined;

  constructor(
    readonly id: string,
    readonly worker: number,
    readonly at: number,
    readonly streams: readonly string[],
    readonly waited: number,
  ) {}

  add(step: HistoryStep, length: number): void {
    this.all ??= this.#firstRun();
    this.all.push(step);
    if (this.all.length > 2 * length + 3) this.all.splice(0, this.all.length - length);
  }

  get steps(): readonly HistoryStep[] {
    return this.all ?? this.#firstRun();
  }

  /** It follows an event that was not written down. */
  #firstRun(): HistoryStep[] {
    const { id, worker, at, streams, waited, endedAt, took } = this;
    const attempt = 1;
    const steps: HistoryStep[] = [
      enqueued(this, worker, 'event', at - waited),
      { kind: 'started', id, worker, at, attempt, reason: 'event', streams, waited },
    ];
    if (took >= 0) steps.push({ kind: 'succeeded', id, worker, at: endedAt, attempt, took });
    return steps;
  }
}

/**
 * The last steps of each id that is not idle, and of the last 1,000 ids that were. An entry holds its own, so that nothing is looked
 * up for a step; what one id costs does not depend on how many there are.
 *
 * Triggers are left out, so that nothing is kept alive that an event carried (F2); the names of streams are few, and shared.
 */
export class History {
  readonly #finished = new Array<Log | undefined>(FINISHED).fill(undefined);
  #next = 0;

  constructor(readonly length: number) {}

  /** After `step` has changed the state of `entry`. */
  follow(entry: Remembered, step: Step): void {
    switch (step.kind) {
      case 'enqueued':
        // The first one is known from the start that follows.
        if (entry.log !== undefined) this.#enterEvent(entry, step);
        break;
      case 'started':
        this.#enterStarted(entry, step);
        break;
      case 'succeeded':
        this.#enterSucceeded(entry, step);
        break;
      case 'merged':
      case 'rejected':
        this.#enterEvent(entry, step);
        break;
      default:
        this.#enter(entry, step);
    }
  }

  #enter(entry: Remembered, step: HistoryStep): void {
    if (entry.log === undefined) {
      const { id, state, reason, since } = entry;
      const { worker } = step;
      entry.log = new Log(id, worker, since, [], 0);
      entry.log.all = state === 'ready' ? [enqueued(entry, worker, reason, since)] : [];
    }
    entry.log.add(step, this.length);
  }

  #enterEvent(entry: Remembered, step: Enqueued | Merged | Rejected): void {
    this.#enter(entry, step.trigger === undefined ? step : withoutTrigger(step));
  }

  #enterStarted(entry: Remembered, step: Started): void {
    if (entry.log !== undefined) entry.log.add(step, this.length);
    else {
      const { id, worker, at, streams, waited } = step;
      entry.log = new Log(id, worker, at, streams, waited);
    }
  }

  #enterSucceeded({ log }: Remembered, step: Succeeded): void {
    if (log === undefined) return;
    if (log.all !== undefined || log.took >= 0) log.add(step, this.length);
    else {
      log.endedAt = step.at;
      log.took = step.took;
    }
  }

  /** `entry` is idle. */
  leave({ log }: Remembered): void {
    if (log !== undefined) this.#finish(log);
  }

  /** A step that is no lane's; `entry`: unless the id is idle. */
  note(entry: Remembered | undefined, step: Step): void {
    if (entry !== undefined) this.#enter(entry, step);
    else {
      const { id, worker, at } = step;
      const log = new Log(id, worker, at, [], 0);
      log.all = [step];
      this.#finish(log);
    }
  }

  /** The last steps of `id`, oldest first; `entry`: unless it is idle. */
  of(id: string, entry: Remembered | undefined, worker: number): readonly HistoryStep[] {
    const logs = [...this.#finished.slice(this.#next), ...this.#finished.slice(0, this.#next)].filter((log) => log?.id === id);
    const steps = [...logs, entry?.log].flatMap((log) => log?.steps ?? []);
    if (entry !== undefined && entry.log === undefined && entry.state === 'ready') {
      steps.push(enqueued(entry, worker, entry.reason, entry.since));
    }
    return steps.slice(-this.length);
  }

  #finish(log: Log): void {
    this.#finished[this.#next] = log;
    this.#next = this.#next + 1 === FINISHED ? 0 : this.#next + 1;
  }
}

/** How an id became ready of which nothing else is known: if by an event, by that of its only stream. */
function enqueued({ id, streams }: Pick<Remembered, 'id' | 'streams'>, worker: number, reason: Reason, at: number): HistoryStep {
  const [stream] = streams;
  return { kind: 'enqueued', id, worker, at, reason, ...(stream !== undefined && { stream }) };
}

/** Field by field: an object from which one is deleted, or that is spread and added to, takes several times as much memory. */
function withoutTrigger(step: Enqueued | Merged | Rejected): HistoryStep {
  const { kind, id, worker, at, trigger } = step;
  const stream = trigger?.stream;
  return {
    kind,
    id,
    worker,
    at,
    ...(step.kind !== 'merged' && { reason: step.reason }),
    ...(stream !== undefined && { stream }),
  } as HistoryStep;
}
