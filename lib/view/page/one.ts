import { auditTime, distinctUntilChanged, EMPTY, filter, merge, type Observable, switchMap, tap } from 'rxjs';
import { DetailView, isForgotten } from './detail.js';
import { polled } from './polled.js';
import { EVERY, FRAME, messageOf, type Shell } from './shell.js';

/** How often, in ms, it is asked for what is idle and forgotten; a step of it is heard of anyway. */
const SELDOM = 15_000;

/**
 * The id that is open.
 *
 * @param stepped - ids of which there was a step: what is shown of them is out of date
 */
export function one(shell: Shell, stepped: Observable<string>): Observable<unknown> {
  const { router, ask } = shell;
  const detail = new DetailView(router, ask);
  return router.changes.pipe(
    distinctUntilChanged((a, b) => a.name === b.name && a.id === b.id),
    switchMap(({ name, id }) => {
      if (id === undefined) {
        detail.hide();
        return EMPTY;
      }
      detail.open(id);
      const sooner = stepped.pipe(
        filter((other) => other === id),
        auditTime(FRAME),
      );
      return polled(
        () => shell.server(name).details(id),
        (answered) => ('value' in answered && isForgotten(answered.value) ? SELDOM : EVERY),
        merge(ask.answered, sooner),
      ).pipe(
        tap((answered) => {
          if ('value' in answered) detail.show(answered.value);
          else detail.missing(messageOf(answered.error));
        }),
      );
    }),
  );
}
