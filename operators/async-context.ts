/** An async context, to come back to. As Node's `AsyncResource`, which it is wherever there is one: what surrounds it would be called for each event. */
export interface AsyncContext {
  /** Calls `work` in it. */
  runInAsyncScope(work: () => void): void;
}

/** What is used of Node's `async_hooks`. */
interface AsyncHooks {
  readonly AsyncResource: new (type: string) => AsyncContext;
}

/** What is used of Node's `EventEmitter`. */
interface Emitter {
  readonly EventEmitterAsyncResource?: new (options: { readonly name: string }) => { readonly asyncResource: AsyncContext };
}

/** What Node offers to those who must not import from it, because they run in browsers too. */
interface Host {
  readonly process?: {
    /** From Node 20.16 on. */
    readonly getBuiltinModule?: (id: string) => unknown;
  };
}

const NAME = 'kreconciler';

/**
 * The async context in which it is called: what runs in it sees the stores of `AsyncLocalStorage` as they are here, and nothing of
 * those of whoever calls it (F2). Where there are no such contexts, in browsers, it just calls.
 */
export function captureAsyncContext(): AsyncContext {
  const { process } = globalThis as Host;
  const hooks = process?.getBuiltinModule?.('async_hooks') as AsyncHooks | undefined;
  if (hooks?.AsyncResource !== undefined) return new hooks.AsyncResource(NAME);
  return contextByEmitter(process) ?? { runInAsyncScope: (work) => work() };
}

/** Before Node 20.16 no module can be had without an import. But `process` is an emitter, whose class knows one that has a context. */
function contextByEmitter(process: object | undefined): AsyncContext | undefined {
  for (let link: unknown = process; typeof link === 'object' && link !== null; link = Object.getPrototypeOf(link)) {
    const { EventEmitterAsyncResource } = ((link as { readonly constructor?: unknown }).constructor ?? {}) as Emitter;
    if (EventEmitterAsyncResource !== undefined) return new EventEmitterAsyncResource({ name: NAME }).asyncResource;
  }
  return undefined;
}
