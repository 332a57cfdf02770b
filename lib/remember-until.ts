import { defer, filter, merge, mergeMap, type MonoTypeOperatorFunction, type Observable, share, startWith, switchMap, take } from 'rxjs';
import { merged } from '../operators/trigger.js';
import type { Trigger } from '../operators/types.js';

/**
 * Holds back what the source says before `leads` says true, and passes it on then; later events pass at once. Of several
 * events for one id the last is remembered, with the highest priority; those whose message or trace would be lost are `absorbed`
 * in it.
 *
 * At most `capacity` events are remembered. If there were more, the source is subscribed to anew when `leads` says true,
 * so that a source that lists does so again, as if nothing had been remembered.
 *
 * Completes when the source has, and what it said has been passed on.
 *
 * @example
 * changes$.pipe(rememberUntil(leads$, 2_000), reconcile(reconciler));
 */
export function rememberUntil(leads: Observable<boolean>, capacity: number): MonoTypeOperatorFunction<Trigger> {
  return (source) =>
    defer(() => {
      const remembered = new Map<unknown, Trigger>();
      let count = 0;
      let hasForgotten = false;
      let isLeading = false;
      const remember = (event: Trigger): false => {
        const before = remembered.get(event.id);
        // What replaces an event takes no place of its own.
        const grows = before === undefined || carries(before);
        if (grows && count === capacity) {
          hasForgotten = true;
        } else {
          if (grows) count++;
          remembered.set(event.id, before === undefined ? event : merged([before], event, carries));
        }
        return false;
      };
      const lead = leads.pipe(filter(Boolean), take(1), share());
      const recalled = lead.pipe(
        mergeMap(() => {
          isLeading = true;
          const events = [...remembered.values()];
          remembered.clear();
          return events;
        }),
      );
      const anew = lead.pipe(filter(() => hasForgotten));
      const live = source.pipe(filter((event) => isLeading || remember(event)));
      // In this order: what was remembered is passed on before the source is asked again.
      return merge(
        recalled,
        anew.pipe(
          startWith(true),
          switchMap(() => live),
        ),
      );
    });
}

/** Whether something would be lost without it: a message to be answered, or a trace to link to. */
function carries({ message, context, absorbed }: Trigger): boolean {
  return message !== undefined || context !== undefined || absorbed !== undefined;
}
