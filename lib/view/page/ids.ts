import { combineLatest, debounceTime, distinctUntilChanged, fromEvent, map, merge, type Observable, switchMap, tap } from 'rxjs';
import { el, find, setAttribute, setText } from './dom.js';
import { FILTERS } from './overview.js';
import { polled } from './polled.js';
import { EVERY, messageOf, type Shell } from './shell.js';
import { LIMIT, TableView } from './table.js';

/** For so long, in ms, somebody is taken to go on typing. */
const TYPING = 150;

/** The table of ids: searched, filtered and paged by the server. */
export function ids(shell: Shell): Observable<unknown> {
  const { router, ask } = shell;
  const table = new TableView(router);
  const [form, search, state] = [find('filter', HTMLFormElement), find('search', HTMLInputElement), find('state', HTMLSelectElement)];
  const [said, tiles] = [find('said', HTMLElement), find('states', HTMLElement)];
  state.append(...FILTERS.map(({ state: value, label }) => el('option', { value }, label)));

  const searched = merge(
    fromEvent(form, 'submit').pipe(tap((event) => event.preventDefault())),
    fromEvent(search, 'input').pipe(debounceTime(TYPING)),
  ).pipe(tap(() => router.go({ search: search.value }, false)));
  const chosen = fromEvent(state, 'change').pipe(tap(() => router.go({ state: state.value })));
  const opened = router.changes.pipe(
    map(({ id }) => id),
    distinctUntilChanged(),
    tap((id) => table.mark(id)),
  );
  const query = router.changes.pipe(
    distinctUntilChanged((a, b) => a.name === b.name && a.state === b.state && a.search === b.search),
    tap((wanted) => {
      if (document.activeElement !== search) search.value = wanted.search;
      state.value = wanted.state;
      for (const tile of tiles.children) setAttribute(tile, 'aria-pressed', String(tile.getAttribute('data-state') === wanted.state));
      table.reset();
    }),
  );
  const shown = combineLatest([query, table.cursor]).pipe(
    // Another query turns to the first page as well: the two are one.
    debounceTime(0),
    switchMap(([wanted, cursor]) => {
      let isTold = wanted.search === '' && wanted.state === '' && cursor === undefined;
      return polled(() => shell.server(wanted.name).ids({ ...wanted, cursor, limit: LIMIT }), EVERY, ask.answered).pipe(
        tap((answered) => {
          if ('error' in answered) {
            table.refused(messageOf(answered.error));
            return;
          }
          table.show(answered.value);
          if (!isTold) setText(said, answered.value.total === 0 ? 'No ids' : `Ids ${find('range', HTMLElement).textContent}`);
          isTold = true;
        }),
      );
    }),
  );
  return merge(searched, chosen, opened, shown);
}
