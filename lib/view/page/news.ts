import { combineLatest, interval, merge, type Observable, of, retry, switchMap, tap } from 'rxjs';
import { find, setAttribute, setText } from './dom.js';
import { visible } from './polled.js';
import type { News } from './server.js';
import { EVERY, FRAME, type Shell, TELL } from './shell.js';
import { StepsView } from './steps.js';

/**
 * The stream of steps. What is in the background hears nothing.
 *
 * @param tell - called with the id of each step
 */
export function news(shell: Shell, tell: (id: string) => void): Observable<unknown> {
  const { name, router } = shell;
  const view = new StepsView(router);
  const connection = find('connection', HTMLElement);
  const say = (state: string, text: string): void => {
    setAttribute(connection, 'data-state', state);
    setText(connection, text);
  };
  const steps = name.pipe(
    tap(() => view.clear()),
    (names) => combineLatest([names, visible]),
    switchMap(([shown, isVisible]) => {
      if (!isVisible) return of<News>({ connected: false });
      const ended = (): void => say('ended', 'the loop has ended');
      return shell
        .server(shown)
        .steps()
        .pipe(retry({ delay: 2 * EVERY }), tap({ complete: ended }));
    }),
    tap((one) => {
      if ('connected' in one) say(one.connected ? 'live' : 'lost', one.connected ? 'live' : 'not connected');
      view.enter(one);
      if ('step' in one) tell(one.step.id);
    }),
  );
  return merge(steps, interval(FRAME).pipe(tap(() => view.draw())), interval(TELL).pipe(tap(() => view.tell(TELL))));
}
