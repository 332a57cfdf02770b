/** Calls `work`, in one async context or another. */
export type InContext = (work: () => void) => void;

/** What is used of Node's `async_hooks`. */
interface AsyncHooks {
  readonly AsyncResource: new (type: string) => { runInAsyncScope(work: () => void): void };
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
 * The async context in which it is called, to come back to: what is called by the function it returns sees the stores of
 * `AsyncLocalStorage` as they are here, and nothing of those of whoever calls it (F2). Where there are no such contexts, in
 * browsers, it just calls.
 */
export function captureAsyncContext(): InContext {
  const { process } = globalThis as Host;
  const load = process?.getBuiltinModule ?? process?.mainModule?.require;
  const hooks = load?.('async_hooks') as AsyncHooks | undefined;
  if (hooks?.AsyncResource === undefined) return (work) => work();
  const resource = new hooks.AsyncResource('kreconciler');
  return (work) => {
    resource.runInAsyncScope(work);
  };
}
