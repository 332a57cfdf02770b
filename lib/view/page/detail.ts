import type { Action, IdDetails, StepMessage } from '../api.js';
import { ActionButton, sensible } from './action-button.js';
import type { Ask } from './ask.js';
import { el, find, setAttribute, setHidden, setText } from './dom.js';
import { clock, details, duration, errorText, moment } from './format.js';
import { type Item, Keyed } from './keyed.js';
import { drawing, marble } from './marble-row.js';
import { layOut } from './marbles.js';
import type { Router } from './route.js';
import { stateOf } from './table.js';
import { lookOf, whyOf } from './tone.js';

const FORGOTTEN = 'It is idle, and no steps of it are remembered: all is well, or nobody has ever asked for it.';

interface Fact {
  readonly label: string;
  readonly text: string;
}

/** One id: how it stands, what may be done to it, and what has happened to it. */
export class DetailView {
  readonly #section = find('detail', HTMLElement);
  readonly #title = el('h2', { id: 'detail-title', tabindex: -1 });
  readonly #chip = el('span', { class: 'chip' });
  readonly #buttons: readonly ActionButton[];
  readonly #list = el('dl', { class: 'facts' });
  readonly #facts = new Keyed<Fact>(this.#list, ({ label }) => label, fact);
  readonly #failure = el('p', { class: 'failure' });
  readonly #marbles = el('div', { class: 'marbles', tabindex: 0, role: 'group', 'aria-label': 'Its history as marbles' });
  readonly #rows = el('tbody');
  readonly #history = el(
    'div',
    { class: 'history', tabindex: 0, role: 'group', 'aria-label': 'Its last steps' },
    el(
      'table',
      {},
      el('thead', {}, el('tr', {}, ...['At', 'Step', 'After', 'What'].map((name) => el('th', { scope: 'col' }, name)))),
      this.#rows,
    ),
  );
  readonly #nothing = el('p', { class: 'empty' });
  readonly #steps = new Keyed<{ readonly step: StepMessage; readonly gap: number | undefined; readonly key: string }>(
    this.#rows,
    ({ key }) => key,
    stepRow,
    this.#history,
  );
  /** Who had the focus before it was opened. */
  #opener: Element | null = null;
  #drawn = '';
  #atEnd = true;

  constructor(
    readonly router: Router,
    ask: Ask,
  ) {
    const button = (texts: Partial<Record<Action, string>>): ActionButton => new ActionButton(texts, ask, () => router.now.id);
    this.#buttons = [button({ run: 'Run now' }), button({ pause: 'Pause', resume: 'Resume' }), button({ discard: 'Discard' })];
    const close = el('button', { type: 'button', class: 'button' }, 'Close');
    close.addEventListener('click', () => {
      this.close();
    });
    this.#section.append(
      el(
        'div',
        { class: 'detail-head' },
        this.#title,
        this.#chip,
        el('div', { class: 'actions' }, ...this.#buttons.map(({ element }) => element), close),
      ),
      this.#list,
      this.#failure,
      this.#marbles,
      this.#history,
      this.#nothing,
    );
    this.#section.addEventListener('keydown', ({ key, defaultPrevented }) => {
      if (key === 'Escape' && !defaultPrevented) this.close();
    });
  }

  /** Shows that it comes; the focus goes to its name. */
  open(id: string): void {
    if (this.#section.hidden) this.#opener = document.activeElement;
    setText(this.#title, id);
    setHidden(this.#chip, true);
    this.#clear();
    setHidden(this.#section, false);
    this.#title.focus({ preventScroll: true });
    this.#section.scrollIntoView({ block: 'nearest' });
  }

  close(): void {
    this.router.go({ id: undefined });
  }

  /** The focus goes back to where it was. */
  hide(): void {
    if (this.#section.hidden) return;
    const hadFocus = this.#section.contains(document.activeElement) || document.activeElement === document.body;
    setHidden(this.#section, true);
    if (!hadFocus) return;
    if (this.#opener instanceof HTMLElement && this.#opener.isConnected && this.#opener !== document.body) this.#opener.focus();
    else find('ids-title', HTMLElement).focus();
  }

  show(shown: IdDetails): void {
    const { id: row, history, actions, at } = shown;
    const full = row.state === 'idle' ? undefined : row;
    setText(this.#title, row.id);
    const { label, tone } = stateOf(row);
    setHidden(this.#chip, false);
    setText(this.#chip, label);
    setAttribute(this.#chip, 'data-tone', tone);
    setAttribute(this.#section, 'data-tone', tone);
    this.#offer(sensible(actions, row.paused !== undefined));
    this.#facts.show(factsOf(row, at));
    const error = full?.lastError;
    setHidden(this.#failure, error === undefined);
    if (error !== undefined) setText(this.#failure, `${errorText(error)} (${duration(at - error.at)} ago)`);
    this.#draw(history, at, full?.until);
    setHidden(this.#history, history.length === 0);
    setHidden(this.#nothing, history.length > 0);
    setText(this.#nothing, isForgotten(shown) ? FORGOTTEN : 'No steps of it are remembered.');
    const keyed = history.map((step, index) => ({
      step,
      gap: index === 0 ? undefined : step.at - (history[index - 1]?.at ?? step.at),
      key: `${step.at} ${step.kind} ${step.attempt ?? ''}`,
    }));
    this.#steps.show(keyed.reverse());
  }

  /** It could not be asked for. */
  missing(text: string): void {
    setHidden(this.#chip, true);
    this.#clear();
    setHidden(this.#nothing, false);
    setText(this.#nothing, text);
  }

  #clear(): void {
    setAttribute(this.#section, 'data-tone', undefined);
    this.#offer([]);
    this.#facts.show([]);
    for (const part of [this.#failure, this.#marbles, this.#history, this.#nothing]) setHidden(part, true);
    this.#steps.show([]);
    this.#drawn = '';
    this.#atEnd = true;
  }

  #offer(actions: readonly Action[]): void {
    for (const button of this.#buttons) button.offer(actions);
  }

  /** Drawn anew each time, for time goes on; who has scrolled back is left there. */
  #draw(history: readonly StepMessage[], at: number, until: number | undefined): void {
    setHidden(this.#marbles, history.length === 0);
    if (history.length === 0) return;
    this.#atEnd = this.#marbles.scrollLeft + this.#marbles.clientWidth >= this.#marbles.scrollWidth - 8;
    const row = layOut(history, at, until, this.#marbles.clientWidth);
    const last = history.at(-1);
    const drawn = `${row.width} ${history.length} ${last?.at ?? ''} ${last?.kind ?? ''}`;
    this.#marbles.replaceChildren(drawing(row, until, at));
    if (this.#atEnd || drawn !== this.#drawn) this.#marbles.scrollLeft = this.#marbles.scrollWidth;
    this.#drawn = drawn;
  }
}

/** Whether nothing is known of it. */
export function isForgotten({ id: { state, paused }, history }: IdDetails): boolean {
  return state === 'idle' && paused === undefined && history.length === 0;
}

function factsOf(row: IdDetails['id'], at: number): Fact[] {
  const facts: Fact[] = [];
  const add = (label: string, text: string | undefined): void => {
    if (text !== undefined && text !== '') facts.push({ label, text });
  };
  if (row.state !== 'idle') {
    add(row.state === 'running' ? 'Runs for' : 'Ready for', row.since === undefined ? undefined : duration(at - row.since));
    add('Why', whyOf(row));
    add('Attempt', String(row.attempt));
    add('Streams', row.streams.join(', '));
    add('Next due', row.until === undefined ? undefined : row.until > at ? `in ${duration(row.until - at)}, ${clock(row.until)}` : 'now');
  } else add('Why', whyOf(row));
  add('Paused for', row.paused === undefined ? undefined : duration(at - row.paused.since));
  add('Worker', row.worker === undefined ? undefined : String(row.worker));
  return facts;
}

function fact(): Item<Fact> {
  const [term, text] = [el('dt'), el('dd')];
  return {
    element: el('div', {}, term, text),
    update: (value) => {
      setText(term, value.label);
      setText(text, value.text);
    },
  };
}

function stepRow(): Item<{ readonly step: StepMessage; readonly gap: number | undefined }> {
  const [time, kind, gap, what] = [el('time'), el('td'), el('td', { class: 'num muted' }), el('span')];
  const element = el('tr', {}, el('td', { class: 'muted' }, time), kind, gap, el('td', {}, what));
  return {
    element,
    update: ({ step, gap: ms }) => {
      setText(time, clock(step.at));
      setAttribute(time, 'datetime', moment(step.at));
      if (kind.childElementCount === 0) {
        kind.append(
          el('span', { class: 'marble' }, marble(step), el('span', { class: 'chip', 'data-tone': lookOf(step).tone }, step.kind)),
        );
      }
      setText(gap, ms === undefined ? '' : `+${duration(ms)}`);
      setText(what, details(step));
    },
  };
}
