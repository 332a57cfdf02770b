import { throwError } from 'rxjs';

/** Reports an error that is nobody's: to `config.onUnhandledError` of rxjs if that is set, else as an uncaught exception. */
export function report(error: unknown): void {
  throwError(() => error).subscribe();
}
