import { type Observable, switchMap, tap } from 'rxjs';
import { ActionButton, sensible } from './action-button.js';
import { ChartsView } from './charts.js';
import { el, find, setAttribute, setHidden, setText } from './dom.js';
import { OverviewView } from './overview.js';
import { polled } from './polled.js';
import { format } from './address.js';
import { EVERY, messageOf, type Shell } from './shell.js';
import { WorkersView } from './workers.js';

/** The controller that is shown, at a glance, and what may be done to its loop. */
export function loop(shell: Shell): Observable<unknown> {
  const { router, ask, name, controllers } = shell;
  const views = [new OverviewView(router), new WorkersView(router), new ChartsView()];
  const [title, trouble, nav] = [find('title', HTMLElement), find('trouble', HTMLElement), find('controllers', HTMLElement)];
  const links = controllers.map((other) => ({
    other,
    link: el('a', { title: other, href: format({ name: other, state: '', search: '' }) }, other),
  }));
  nav.append(...links.map(({ link }) => link));
  setHidden(nav, controllers.length < 2);
  const button = new ActionButton({ pause: 'Pause the loop', resume: 'Resume the loop' }, ask, () => undefined);
  find('loop-actions', HTMLElement).append(button.element);

  return name.pipe(
    tap((shown) => {
      for (const { other, link } of links) setAttribute(link, 'aria-current', other === shown && 'page');
      setText(title, shown);
      document.title = `${shown} · kreconciler`;
      for (const view of views) view.clear();
      button.offer([]);
    }),
    switchMap((shown) => polled(() => shell.server(shown).overview(), EVERY, ask.answered)),
    tap((answered) => {
      setHidden(trouble, 'value' in answered);
      if ('error' in answered) {
        setText(trouble, `What you see may be out of date: ${messageOf(answered.error)}`);
        return;
      }
      for (const view of views) view.show(answered.value);
      button.offer(sensible(answered.value.actions, answered.value.paused !== undefined));
    }),
  );
}
