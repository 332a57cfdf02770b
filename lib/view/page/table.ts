import { BehaviorSubject, map, type Observable } from 'rxjs';
import type { IdPage, IdRow } from '../api.js';
import { el, find, setAttribute, setHidden, setText } from './dom.js';
import { brief, clock, count } from './format.js';
import { type Item, Keyed } from './keyed.js';
import { FILTERS } from './overview.js';
import { pointTo } from './link.js';
import type { Router } from './route.js';
import { whyOf } from './tone.js';

/** How many ids are on a page. */
export const LIMIT = 100;

/** The ids, a page at a time: which ones, and on which page, the server decides. */
export class TableView {
  /** Where the page begins that is to be shown; the first one has no cursor. */
  readonly cursor: Observable<string | undefined>;
  /** Those of the pages up to the one that is shown. */
  readonly #cursors = new BehaviorSubject<readonly (string | undefined)[]>([undefined]);
  readonly #body = find('rows', HTMLElement);
  readonly #scroll = this.#body.closest<HTMLElement>('.scroll');
  readonly #rows = new Keyed<IdRow>(
    this.#body,
    ({ id }) => id,
    () => this.#row(),
    this.#scroll ?? undefined,
  );
  readonly #empty = find('empty', HTMLElement);
  readonly #range = find('range', HTMLElement);
  readonly #previous = find('previous', HTMLButtonElement);
  readonly #next = find('next', HTMLButtonElement);
  #following: string | undefined;
  #at = 0;

  constructor(readonly router: Router) {
    this.cursor = this.#cursors.pipe(map((cursors) => cursors.at(-1)));
    this.#next.addEventListener('click', () => {
      if (this.#following !== undefined) this.#turn([...this.#cursors.value, this.#following]);
    });
    this.#previous.addEventListener('click', () => {
      if (this.#cursors.value.length > 1) this.#turn(this.#cursors.value.slice(0, -1));
    });
  }

  /** Begins with the first page. */
  reset(): void {
    if (this.#cursors.value.length > 1) this.#turn([undefined]);
  }

  show({ ids, total, next, at }: IdPage): void {
    this.#at = at;
    this.#rows.show(ids);
    this.#following = next;
    const page = this.#cursors.value.length - 1;
    const first = page * LIMIT + 1;
    setText(this.#range, ids.length === 0 ? '' : `${count(first)} to ${count(first + ids.length - 1)} of ${count(total)}`);
    setHidden(this.#empty, ids.length > 0);
    if (ids.length === 0) setText(this.#empty, this.#nothing());
    this.#able(this.#previous, page > 0);
    this.#able(this.#next, next !== undefined);
  }

  /** Which id is open. */
  mark(id: string | undefined): void {
    for (const link of this.#body.querySelectorAll('a')) {
      const row = link.closest('tr');
      if (row !== null) mark(row, link, link.dataset['id'] === id);
    }
  }

  refused(text: string): void {
    this.#rows.show([]);
    setText(this.#range, '');
    setHidden(this.#empty, false);
    setText(this.#empty, text);
  }

  clear(): void {
    this.#rows.show([]);
    setText(this.#range, '');
    setHidden(this.#empty, true);
  }

  #nothing(): string {
    const { state, search } = this.router.now;
    const filter = FILTERS.find((one) => one.state === state && state !== '')?.label.toLowerCase();
    if (search !== '') return `No id${filter === undefined ? '' : ` that is ${filter}`} matches “${search}”. Idle ids are not listed.`;
    return filter === undefined ? 'All is converged: every id is idle.' : `No id is ${filter}.`;
  }

  /** A button that has the focus keeps it: one that is disabled would lose it. */
  #able(button: HTMLButtonElement, isAble: boolean): void {
    const other = button === this.#next ? this.#previous : this.#next;
    const hadFocus = document.activeElement === button;
    button.disabled = !isAble;
    if (hadFocus && !isAble) (other.disabled ? this.#scroll : other)?.focus({ preventScroll: true });
  }

  #turn(cursors: readonly (string | undefined)[]): void {
    this.#cursors.next(cursors);
    if (this.#scroll !== null) this.#scroll.scrollTop = 0;
  }

  #row(): Item<IdRow> {
    const [link, plain, chip] = [el('a', { class: 'clip' }), el('span', { class: 'clip' }), el('span', { class: 'chip' })];
    const [since, attempt, why, streams, error, due] = [
      el('td', { class: 'num' }),
      el('td', { class: 'num' }),
      clip(),
      clip(),
      clip(),
      el('td'),
    ];
    due.className = 'num';
    const below = el('span', { class: 'clip below' });
    const element = el(
      'tr',
      {},
      el('th', { scope: 'row' }, link, plain, below),
      el('td', {}, chip),
      since,
      attempt,
      el('td', {}, why),
      el('td', {}, streams),
      el('td', { class: 'error' }, error),
      due,
    );
    return {
      element,
      update: (row) => {
        const isCut = row.cut === true;
        setHidden(link, isCut);
        setHidden(plain, !isCut);
        setText(isCut ? plain : link, row.id);
        pointTo(link, this.router, row.id);
        setAttribute(link, 'title', row.id);
        mark(element, link, row.id === this.router.now.id);
        const { label, tone } = stateOf(row);
        setText(chip, label);
        setAttribute(chip, 'data-tone', tone);
        const full = row.state === 'idle' ? undefined : row;
        // What waits has done so since it failed; of what waits as it asked to, nobody knows.
        const from = full?.since ?? full?.lastError?.at ?? row.paused?.since;
        setText(since, from === undefined ? '' : brief(this.#at - from));
        setText(attempt, full === undefined ? '' : count(full.attempt));
        said(why, whyOf(row));
        said(streams, full?.streams.join(', ') ?? '');
        const failure = full?.lastError;
        // The name says little, and there is little room.
        const message = failure === undefined ? '' : failure.message || failure.name;
        said(error, message, failure && `${failure.name} at ${clock(failure.at)}`);
        setText(below, message);
        setText(due, full?.until === undefined ? '' : full.until > this.#at ? `in ${brief(full.until - this.#at)}` : 'now');
      },
    };
  }
}

/** What an id is called: one that is paused is that before all else, unless it runs. */
export function stateOf(row: IdRow): { readonly label: string; readonly tone: string } {
  if (row.paused === undefined || row.state === 'running' || row.state === 'abandoned') return { label: row.state, tone: row.state };
  return { label: 'paused', tone: 'paused' };
}

function mark(row: Element, link: HTMLElement, isOpen: boolean): void {
  setAttribute(row, 'data-open', isOpen);
  setAttribute(link, 'aria-current', isOpen && 'true');
}

function clip(): HTMLElement {
  return el('span', { class: 'clip' });
}

/** What is clipped is whole where the pointer rests. */
function said(element: HTMLElement, text: string, more?: string): void {
  setText(element, text);
  setAttribute(element, 'title', text === '' ? undefined : more === undefined ? text : `${text} (${more})`);
}
