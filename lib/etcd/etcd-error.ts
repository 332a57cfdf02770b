/** The gRPC codes by which etcd says that another try may succeed: cancelled (it is shutting down), too late, unavailable. */
const TRANSIENT: readonly unknown[] = [1, 4, 14];

/** Those by which it says that it has failed, for a reason that may pass: unknown, exhausted, internal, data lost. */
const FAILED: readonly unknown[] = [2, 8, 13, 15];

/** What etcd answers instead of what it was asked for, with the code that gRPC has for it. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';

  constructor(
    message: string,
    readonly code: number | undefined,
  ) {
    super(message);
  }
}

/** Says that etcd was not reached, or did not answer, or not as etcd does. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}

/** Says that somebody on the way to an endpoint does not let it through. */
export class BarredError extends UnavailableError {}

/** Whether the same request may succeed some time later, or at another member. */
export function isTransient(error: unknown): boolean {
  return error instanceof UnavailableError || (error instanceof EtcdError && TRANSIENT.includes(error.code));
}

/** Whether somebody may not do what was asked, or asks in a wrong way: time alone will not help. */
export function isRefusal(error: unknown): boolean {
  return error instanceof BarredError || (error instanceof EtcdError && !isTransient(error) && !FAILED.includes(error.code));
}
