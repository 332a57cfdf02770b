import { fromEvent, merge, type Observable } from 'rxjs';

/** The signals that ask a program to end. While nobody subscribes `graceful-exit.js` looks after them. */
export const signals$: Observable<unknown> = merge(...['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => fromEvent(process, signal)));
