import { AsyncLocalStorage, createHook, executionAsyncId } from 'node:async_hooks';
import { callerOf, type Origin, originOf } from './caller.js';
import { canWait, isOverAfterCallback, isPending, isShortTimer } from './pending.js';
import { UnhandledErrors } from './unhandled-errors.js';

/** One thing that waits for the real world: what Node calls it, and the code that asked for it. */
interface RealWait {
  readonly kind: string;
  readonly origin: Origin;
  readonly resource: WeakRef<object>;
}

/**
 * What the code under test waits for outside virtual time. Node reports who makes a timer, a request, a process; it is noted
 * here, and asked later whether it still keeps somebody waiting.
 */
export class RealWaits {
  static readonly #current = new AsyncLocalStorage<RealWaits>();
  static readonly #unhandled = new UnhandledErrors((error, isHandled) => this.current?.report(error, isHandled) ?? isHandled);
  readonly #noted = new Map<number, RealWait>();
  /** The runs of `virtualTime` inside this one that are not over. */
  readonly inside = new Set<Promise<unknown>>();
  /** Who inside waits for the virtual time around it. */
  readonly #around = new Set<Origin>();
  readonly #errors: { readonly error: unknown }[] = [];
  #isOver = false;
  #immediates = 0;
  #reports = 0;
  readonly #init = (id: number, type: string, _: number, resource: object): void => {
    if (type === 'PROMISE' || RealWaits.current !== this) return;
    if (type === 'Immediate') this.#immediates++;
    else if (canWait(type, resource)) {
      this.#noted.set(id, { kind: type, origin: originOf(this.#init), resource: new WeakRef(resource) });
    }
  };
  readonly #hook = createHook({
    init: this.#init,
    after: (id) => {
      const { kind, resource } = this.#noted.get(id) ?? {};
      if (kind !== undefined && isOverAfterCallback(kind, resource?.deref() ?? {})) this.#noted.delete(id);
    },
    destroy: (id) => {
      this.#noted.delete(id);
    },
  });

  /** Those in whose `watch` this is called. */
  static get current(): RealWaits | undefined {
    return RealWaits.#current.getStore();
  }

  /** Runs `work` without looking. */
  static ignore<T>(work: () => T): T {
    return RealWaits.#current.exit(work);
  }

  /** Runs `work`, and notes what it and all that it starts wait for. */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    const inside = RealWaits.current?.inside ?? new Set();
    const watched = this.#watch(work);
    inside.add(watched);
    try {
      return await watched;
    } finally {
      inside.delete(watched);
    }
  }

  async #watch<T>(work: () => Promise<T>): Promise<T> {
    this.#hook.enable();
    RealWaits.#unhandled.listen();
    try {
      return await RealWaits.#current.run(this, work);
    } finally {
      this.#isOver = true;
      RealWaits.#unhandled.leave();
      this.#hook.disable();
    }
  }

  /** How many macrotasks have been asked for: if it grows while one passes, there is more to come. */
  get immediates(): number {
    return this.#immediates;
  }

  /** The first error that no observer has handled, if there is one. */
  get error(): { readonly error: unknown } | undefined {
    return this.#errors[0];
  }

  /** Nothing was noted that could be waited for, and no error. */
  get isQuiet(): boolean {
    return this.#noted.size === 0 && this.#around.size === 0 && this.#errors.length === 0;
  }

  /** How many errors were reported that no observer has handled. */
  get reports(): number {
    return this.#reports;
  }

  /** Whether a timer waits that has no delay. */
  get hasShortTimer(): boolean {
    return this.#pending().some(([, { kind, resource }]) => isShortTimer(kind, resource.deref() ?? {}));
  }

  /** `Timeout at readConfig (/app/config.ts:12:3)`, one a line, for each thing that somebody waits for; `''` if there is none. */
  toString(): string {
    return [
      ...this.#pending().map(([, { kind, origin }]) => `  ${kind} ${callerOf(origin)}`),
      ...[...this.#around].map((origin) => `  \`sleep\` of another \`virtualTime\`, around this one ${callerOf(origin)}`),
    ].join('\n');
  }

  /** An error that no observer has handled is reported by the timer that runs now. Returns whether it is dealt with. */
  report(error: unknown, isHandled: boolean): boolean {
    this.#reports++;
    this.#noted.delete(executionAsyncId());
    if (this.#isOver || isHandled) return isHandled;
    this.#errors.push({ error });
    return true;
  }

  /** `callee` lets its caller wait for the time of `clock`. Until the returned function is called that is none of the caller's. */
  static noteAround(clock: RealWaits, callee: (...args: never[]) => unknown): () => void {
    const { current } = RealWaits;
    if (current === undefined || current === clock) return () => undefined;
    const origin = originOf(callee);
    current.#around.add(origin);
    return () => {
      current.#around.delete(origin);
    };
  }

  #pending(): [number, RealWait][] {
    return [...this.#noted].filter(([, { kind, resource }]) => {
      const waiting = resource.deref();
      return waiting !== undefined && isPending(kind, waiting);
    });
  }
}
