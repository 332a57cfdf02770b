import { AsyncLocalStorage, createHook } from 'node:async_hooks';

/** What Node tells of that waits for nothing outside. */
const HARMLESS = new Set(['PROMISE', 'TickObject', 'Microtask', 'Immediate', 'FILEHANDLE', 'TIMERWRAP', 'ELDHISTOGRAM']);

/** One thing that waits for the real world: what Node calls it, and the line of code that asked for it. */
interface RealWait {
  readonly kind: string;
  readonly from: string;
}

/** What the code under test waits for outside virtual time. Node tells who made a timer, a request, a process; we note it. */
export class RealWaits {
  static readonly #current = new AsyncLocalStorage<RealWaits>();
  readonly #waits = new Map<number, RealWait>();
  #immediates = 0;
  readonly #hook = createHook({
    init: (id, type) => {
      if (type === 'PROMISE' || RealWaits.#current.getStore() !== this) return;
      if (type === 'Immediate') this.#immediates++;
      if (!HARMLESS.has(type)) this.#waits.set(id, { kind: type, from: caller(new Error().stack ?? '') });
    },
    after: (id) => {
      this.#waits.delete(id);
    },
    destroy: (id) => {
      this.#waits.delete(id);
    },
  });

  /** Runs `work`, and notes what it and all that it starts wait for. */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    this.#hook.enable();
    try {
      return await RealWaits.#current.run(this, work);
    } finally {
      this.#hook.disable();
    }
  }

  /** Runs `work` without looking. */
  static ignore<T>(work: () => T): T {
    return RealWaits.#current.exit(work);
  }

  /** How many macrotasks have been asked for: if it grows while one passes, there is more to come. */
  get immediates(): number {
    return this.#immediates;
  }

  /** `Timeout from readConfig (/app/config.ts:12:3)`, one a line; `''` if there is nothing. */
  toString(): string {
    return [...this.#waits.values()].map(({ kind, from }) => `  ${kind} ${from}`).join('\n');
  }

  get isEmpty(): boolean {
    return this.#waits.size === 0;
  }
}

/** The first line of the stack that is neither Node's nor ours. */
function caller(stack: string): string {
  const lines = stack
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
  return lines.find((line) => !/node:|<anonymous>|real-waits/u.test(line)) ?? lines.at(-1) ?? '';
}
