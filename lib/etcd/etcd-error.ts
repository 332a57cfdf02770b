/** The gRPC codes by which etcd says that another try may succeed: cancelled (it is shutting down), too late, unavailable. */
const TRANSIENT: readonly unknown[] = [1, 4, 14];

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

/** Whether the same request may succeed some time later, or at another member. */
export function isTransient(error: unknown): boolean {
  return error instanceof UnavailableError || (error instanceof EtcdError && TRANSIENT.includes(error.code));
}
