import { defer, fromEvent, merge, type Observable } from 'rxjs';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The signals that ask a program to end. From the first subscription on `early-exit.js` leaves them to us. */
export const signals$: Observable<unknown> = defer(() => {
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal)) if (listener.name === 'exitEarly') process.off(signal, listener);
  return merge(...SIGNALS.map((signal) => fromEvent(process, signal)));
});
