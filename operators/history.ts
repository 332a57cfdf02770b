import type { Reason, Started, Step, Succeeded } from './types.js';

/** How many ids that are idle again are remembered. */
const FINISHED = 1_000;

/** What a {@link History} needs of an id that is not idle. */
export interface Remembered {
  readonly id: string;
  readonly state: string;
  readonly reason: Reason;
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
  all: Step[] | undefined = undefined;

  constructor(
    readonly id: string,
    readonly worker: number,
    readonly at: number,
    readonly streams: readonly string[],
    readonly waited: number,
  ) {}

  add(step: Step, length: number): void {
    this.all ??= this.#firstRun();
    this.all.push(step);
    if (this.all.length > 2 * length + 3) this.all.splice(0, this.all.length - length);
  }

  get steps(): readonly Step[] {
    return this.all ?? this.#firstRun();
  }

  /** It follows an event that was not written down. */
  #firstRun(): Step[] {
    const { id, worker, at, streams, waited, endedAt, took } = this;
    const reason = 'event';
    const attempt = 1;
    const steps: Step[] = [
      { kind: 'enqueued', id, worker, at: at - waited, reason },
      { kind: 'started', id, worker, at, attempt, reason, streams, waited },
    ];
    if (took >= 0) steps.push({ kind: 'succeeded', id, worker, at: endedAt, attempt, took });
    return steps;
  }
}

/**
 * The last steps of each id that is not idle, and of the last 1,000 ids that were. An entry holds its own, so that nothing is looked
 * up for a step; what one id costs does not depend on how many there are.
 *
 * Triggers are left out, so that nothing is kept alive that an event carried (F2).
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

  #enter(entry: Remembered, step: Step): void {
    if (entry.log === undefined) {
      const { id, state, reason, since } = entry;
      const { worker } = step;
      entry.log = new Log(id, worker, since, [], 0);
      entry.log.all = state === 'ready' ? [{ kind: 'enqueued', id, worker, at: since, reason }] : [];
    }
    entry.log.add(step, this.length);
  }

  #enterEvent(entry: Remembered, step: Step): void {
    const copy = { ...step };
    delete copy.trigger;
    this.#enter(entry, copy);
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
  of(id: string, entry: Remembered | undefined, worker: number): readonly Step[] {
    const logs = [...this.#finished.slice(this.#next), ...this.#finished.slice(0, this.#next)].filter((log) => log?.id === id);
    const steps = [...logs, entry?.log].flatMap((log) => log?.steps ?? []);
    if (entry !== undefined && entry.log === undefined && entry.state === 'ready') {
      const { reason, since } = entry;
      steps.push({ kind: 'enqueued', id, worker, at: since, reason });
    }
    return steps.slice(-this.length);
  }

  #finish(log: Log): void {
    this.#finished[this.#next] = log;
    this.#next = this.#next + 1 === FINISHED ? 0 : this.#next + 1;
  }
}
