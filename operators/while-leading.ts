import {
  concat,
  defer,
  distinctUntilChanged,
  exhaustMap,
  filter,
  type MonoTypeOperatorFunction,
  NEVER,
  type ObservableInput,
  share,
  Subject,
  takeUntil,
  tap,
} from 'rxjs';
import { checkObservableInput } from './check.js';
import { toObservable } from './observable-input.js';

/**
 * Subscribes to the source while `leader` says true, and unsubscribes when it says false; leading again subscribes anew,
 * once, however often the signal repeats.
 *
 * Completes when the source completes while leading. A leader that completes leaves its last value standing; one that
 * errors, or a source that does, errors the output. On a loop this is a cut: use it in front of `reconcile`, with
 * `config.reset`, to keep an id serial across terms, as the Controller does.
 *
 * @throws TypeError if `leader` cannot be subscribed to
 * @example
 * files$.pipe(whileLeading(lease$), reconcile(reconciler, { reset: lease$.pipe(filter((leads) => !leads)) }));
 */
export function whileLeading<T>(leader: ObservableInput<boolean>): MonoTypeOperatorFunction<T> {
  checkObservableInput('leader', leader);
  return (source) =>
    defer(() => {
      const completed = new Subject<void>();
      const whenDone = tap<T>({
        complete: () => {
          completed.next();
        },
      });
      const here = toObservable(source);
      const leads = concat(toObservable(leader), NEVER).pipe(distinctUntilChanged(), share());
      const lost = leads.pipe(filter((now) => !now));
      return leads.pipe(
        filter((now) => now),
        // Each subscription ends itself. A `switchMap` that is made to switch by the teardown of what it lets go of keeps both.
        exhaustMap(() => here.pipe(whenDone, takeUntil(lost))),
        takeUntil(completed),
      );
    });
}
