/** An async context, to come back to. As Node's `AsyncResource`, which it is wherever there is one: what surrounds it would be called for each event. */
export interface AsyncContext {
  /** Calls `work` in it. */
  runInAsyncScope(work: () => void): void;
}

/** What is used of Node's `async_hooks`. */
interface AsyncHooks {
  readonly AsyncResource: new (type: string) => AsyncContext;
}

/** What Node offers to those who must not import from it, because they run in browsers too. */
interface Host {
  readonly process?: {
    /** From Node 20.16 on. */
    readonly getBuiltinModule?: (id: string) => unknown;
    /** Before; but only where the program is CommonJS. */
    readonly mainModule?: { readonly require?: (id: string) => unknown };
  };
}

/**
 * The async context in which it is called: what runs in it sees the stores of `AsyncLocalStorage` as they are here, and nothing of
 * those of whoever calls it (F2). Where there are no such contexts, in browsers, it just calls.
 */
export function captureAsyncContext(): AsyncContext {
  const { process } = globalThis as Host;
  const load = process?.getBuiltinModule ?? process?.mainModule?.require;
  const hooks = load?.('async_hooks') as AsyncHooks | undefined;
  return hooks?.AsyncResource === undefined ? { runInAsyncScope: (work) => work() } : new hooks.AsyncResource('kreconciler');
}
