import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import type { Logger } from '../observability/logging/logger.js';

/** Says that the answers of one connection come from several server processes. No retry can mend that. */
export class PoolerError extends Error {
  override readonly name = 'PoolerError';

  constructor(before: number, now: number) {
    super(
      `A transaction-pooling proxy answers for PostgreSQL: backend ${String(before)} before, ${String(now)} now. ` +
        'Session locks do not work behind it. Connect to PostgreSQL itself, or let the proxy pool sessions.',
    );
  }
}

/**
 * Lets rows through that have come from the same backend (their column `pid`) as the first ones did; else a
 * {@link PoolerError}. A proxy that pools sessions keeps to one, but is logged: from outside it looks like the other kind.
 */
export function sameBackend(processID: unknown, logger: Logger): MonoTypeOperatorFunction<readonly unknown[]> {
  let backend: number | undefined;
  return tap(([row]) => {
    const { pid } = row as { pid: number };
    if (backend === undefined && typeof processID === 'number' && processID !== pid) {
      logger.warn('A proxy stands before PostgreSQL: leadership needs one that pools sessions, not transactions', { pid, processID });
    }
    backend ??= pid;
    if (pid !== backend) throw new PoolerError(backend, pid);
  });
}
