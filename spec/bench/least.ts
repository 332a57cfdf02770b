import { run } from './run.js';

/** Who is measured in which case, with how much of it. */
export interface Subject {
  readonly contender: string;
  readonly of: string;
  readonly scale: number;
}

/**
 * The least CPU time that an id of each subject took in several rounds. What else the machine does only ever adds to it, and the subjects take
 * turns, so that a time of quiet is one for all of them.
 */
export class Least {
  readonly #cpu = new Map<Subject, number>();

  constructor(readonly subjects: ReadonlySet<Subject>) {}

  async round(): Promise<void> {
    for (const subject of this.subjects) {
      const cpu = (await run(subject.of, subject.contender, subject.scale, { flags: ['--single-threaded-gc'] }))?.['cpu'] ?? Infinity;
      this.#cpu.set(subject, Math.min(cpu, this.#cpu.get(subject) ?? Infinity));
    }
  }

  /** `NaN` if one never ended. */
  ratio(subject: Subject, to: Subject): number {
    return (this.#cpu.get(subject) ?? NaN) / (this.#cpu.get(to) ?? NaN);
  }
}
