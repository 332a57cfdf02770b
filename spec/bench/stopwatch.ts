import type { Column, Figures } from './case.js';

export const RATE: readonly Column[] = [
  { key: 'rate', label: 'million/s', digits: 3 },
  { key: 'cpu', label: 'CPU us each', digits: 3 },
];

/** CPU time (all threads of the process, so garbage collection too) and wall time since it was started. */
export class Stopwatch {
  readonly #cpu = process.cpuUsage();
  readonly #started = performance.now();

  /** In microseconds. */
  get cpu(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    return user + system;
  }

  /** In microseconds. */
  get wall(): number {
    return (performance.now() - this.#started) * 1000;
  }

  /** Figures for the columns of {@link RATE}. */
  rate(count: number): Figures {
    return { rate: count / this.wall, cpu: this.cpu / count };
  }
}
