/** The gRPC codes by which etcd says that another try, perhaps at another member, may succeed. */
const DEADLINE_EXCEEDED = 4;
const UNAVAILABLE = 14;

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

/** Whether `error` says that etcd has understood and will not do it, however often it is asked. */
export function isRefusal(error: unknown): error is EtcdError {
  return error instanceof EtcdError && error.code !== UNAVAILABLE && error.code !== DEADLINE_EXCEEDED;
}
