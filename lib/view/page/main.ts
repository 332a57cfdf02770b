import {
  auditTime,
  catchError,
  combineLatest,
  debounceTime,
  distinctUntilChanged,
  EMPTY,
  filter,
  fromEvent,
  ignoreElements,
  interval,
  map,
  merge,
  type Observable,
  of,
  retry,
  startWith,
  Subject,
  switchMap,
  tap,
} from 'rxjs';
import type { Action, Overview } from '../api.js';
import { Ask } from './ask.js';
import { ChartsView } from './charts.js';
import { DetailView } from './detail.js';
import { el, find, setAttribute, setHidden, setText } from './dom.js';
import { count } from './format.js';
import { FILTERS, OverviewView } from './overview.js';
import { type Answered, isVisible$, polled } from './polled.js';
import { format, Router } from './route.js';
import { type News, pageData, RefusalError, Server } from './server.js';
import { StepsView } from './steps.js';
import { LIMIT, TableView } from './table.js';
import { WorkersView } from './workers.js';

/** How often, in ms, the page asks, draws what has come, and counts it. */
const [EVERY, FRAME, TELL] = [1000, 200, 2000];

const { controllers } = pageData();
const base = location.pathname.replace(/\/*$/, '/');
const servers = new Map(controllers.map((name) => [name, new Server(base, name)]));
const router = new Router(controllers);
const serverOf = (name: string): Server => servers.get(name) ?? new Server(base, name);

const ask = new Ask(() => serverOf(router.now.name));
const overview = new OverviewView(router);
const workers = new WorkersView(router);
const charts = new ChartsView();
const table = new TableView(router);
const detail = new DetailView(router, ask);
const steps = new StepsView(router);
const [title, trouble, connection, said] = [
  find('title', HTMLElement),
  find('trouble', HTMLElement),
  find('connection', HTMLElement),
  find('said', HTMLElement),
];
const [search, state, nav] = [find('search', HTMLInputElement), find('state', HTMLSelectElement), find('controllers', HTMLElement)];
/** Steps of the id that is open: what is shown of it is out of date. */
const isOutOfDate$ = new Subject<void>();

/** What the part of the address is now, and from now on. */
function the<T>(pick: (route: Router['now']) => T): Observable<T> {
  return router.route$.pipe(map(pick), distinctUntilChanged());
}

function value<T>(answered: Answered<T>): T | undefined {
  return 'value' in answered ? answered.value : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// The controllers.
nav.append(...controllers.map((name) => el('a', { 'data-name': name, title: name }, name)));
setHidden(nav, controllers.length < 2);
const name$ = the(({ name }) => name).pipe(
  tap((name) => {
    for (const link of nav.querySelectorAll('a')) {
      const isShown = link.dataset['name'] === name;
      setAttribute(link, 'aria-current', isShown && 'page');
      setAttribute(link, 'href', format({ name: link.dataset['name'] ?? '', state: '', search: '' }));
    }
    setText(title, name);
    document.title = `${name} · kreconciler`;
    for (const view of [overview, workers, charts, table, steps]) view.clear();
  }),
);

// The whole loop.
const loopButtons = (['pause', 'resume'] as const).map((action: Action) => {
  const button = el('button', { type: 'button', class: 'button', hidden: true }, action === 'pause' ? 'Pause the loop' : 'Resume the loop');
  button.addEventListener('click', () => {
    ask.open(action, undefined);
  });
  return { action, button };
});
find('loop-actions', HTMLElement).append(...loopButtons.map(({ button }) => button));

function showOverview(seen: Overview): void {
  overview.show(seen);
  workers.show(seen);
  charts.show(seen);
  const offered = seen.paused === undefined ? 'pause' : 'resume';
  for (const { action, button } of loopButtons) {
    const hadFocus = document.activeElement === button;
    setHidden(button, action !== offered || !seen.actions.includes(action));
    if (hadFocus && button.hidden) loopButtons.find((other) => other.action === offered)?.button.focus();
  }
}

const overview$ = name$.pipe(
  switchMap((name) => polled(() => serverOf(name).overview(), EVERY, ask.answered$)),
  tap((answered) => {
    const seen = value(answered);
    setHidden(trouble, seen !== undefined);
    if (seen !== undefined) showOverview(seen);
    else if ('error' in answered) setText(trouble, `What you see may be out of date: ${messageOf(answered.error)}`);
  }),
);

// The table.
state.append(...FILTERS.map(({ state: of, label }) => el('option', { value: of }, label)));
const filtered$ = merge(
  fromEvent(find('filter', HTMLFormElement), 'submit').pipe(tap((event) => event.preventDefault())),
  fromEvent(search, 'input').pipe(debounceTime(150)),
).pipe(tap(() => router.go({ search: search.value }, false)));
const chosen$ = fromEvent(state, 'change').pipe(tap(() => router.go({ state: state.value })));
const query$ = router.route$.pipe(
  map(({ name, state, search }) => ({ name, state, search })),
  distinctUntilChanged((a, b) => a.name === b.name && a.state === b.state && a.search === b.search),
  tap((query) => {
    if (document.activeElement !== search) search.value = query.search;
    state.value = query.state;
    overview.filter(query.state);
    table.reset();
  }),
);
const ids$ = combineLatest([query$, table.cursors$]).pipe(
  // A change of the query turns to the first page as well: the two are one.
  debounceTime(0),
  switchMap(([query, cursors]) => {
    let isTold = query.search === '' && query.state === '';
    return polled(() => serverOf(query.name).ids({ ...query, cursor: cursors.at(-1), limit: LIMIT }), EVERY, ask.answered$).pipe(
      tap((answered) => {
        const page = value(answered);
        if (page !== undefined) table.show(page);
        else if ('error' in answered) table.refused(messageOf(answered.error));
        if (page !== undefined && !isTold) setText(said, `${count(page.total)} ids`);
        isTold = true;
      }),
    );
  }),
);

// One id.
const open$ = router.route$.pipe(
  map(({ name, id }) => ({ name, id })),
  distinctUntilChanged((a, b) => a.name === b.name && a.id === b.id),
  switchMap(({ name, id }) => {
    table.mark(id);
    if (id === undefined) {
      detail.hide();
      return EMPTY;
    }
    detail.open(id);
    const sooner$ = merge(ask.answered$, isOutOfDate$.pipe(auditTime(FRAME)));
    return polled(() => serverOf(name).details(id), EVERY, sooner$).pipe(
      tap((answered) => {
        const seen = value(answered);
        if (seen !== undefined) detail.show(seen);
        else if ('error' in answered) detail.missing(whyMissing(answered.error));
      }),
    );
  }),
);

function whyMissing(error: unknown): string {
  if (error instanceof RefusalError && error.status === 404)
    return 'It is idle, and no steps of it are remembered: all is well, or nobody has asked for it.';
  return messageOf(error);
}

// The steps.
const news$ = combineLatest([name$, isVisible$]).pipe(
  switchMap(([name, isVisible]) => {
    if (!isVisible) return of<News>({ connected: false });
    return serverOf(name)
      .steps()
      .pipe(
        retry({ delay: 2 * EVERY }),
        tap({
          complete: () => {
            tellConnection('ended', 'the loop has ended');
          },
        }),
      );
  }),
  tap((news) => {
    if ('connected' in news) tellConnection(news.connected ? 'live' : 'lost', news.connected ? 'live' : 'not connected');
    steps.enter(news);
    if ('step' in news && news.step.id === router.now.id) isOutOfDate$.next();
  }),
);

function tellConnection(state: string, text: string): void {
  setAttribute(connection, 'data-state', state);
  setText(connection, text);
}

// Whoever follows a link to an id keeps the filter that is set by now.
const followed$ = fromEvent<MouseEvent>(document, 'click').pipe(
  filter(({ button, ctrlKey, metaKey, shiftKey, altKey }) => button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey),
  tap((event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#"]') : null;
    const [id, skip] = [link?.dataset['id'], link?.classList.contains('skip')];
    if (id === undefined && skip !== true) return;
    event.preventDefault();
    if (id !== undefined) router.go({ id });
    else find('ids-title', HTMLElement).focus();
  }),
);

merge(
  overview$,
  filtered$,
  chosen$,
  ids$,
  open$,
  news$,
  followed$,
  interval(FRAME).pipe(tap(() => steps.draw())),
  interval(TELL).pipe(tap(() => steps.tell(TELL))),
)
  .pipe(
    ignoreElements(),
    catchError((error: unknown) => {
      setHidden(trouble, false);
      setText(trouble, `The page has a fault: ${messageOf(error)}. Load it again.`);
      return EMPTY;
    }),
    startWith(undefined),
  )
  .subscribe();
