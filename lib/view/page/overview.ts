import type { Overview, StateFilter } from '../api.js';
import { el, find, setAttribute, setHidden, setText } from './dom.js';
import { count, duration } from './format.js';
import { type Item, Keyed } from './keyed.js';
import { pointTo } from './link.js';
import type { Router } from './route.js';
import type { Tone } from './tone.js';

/** What `state=` may say, as people read it. */
export const FILTERS: readonly { readonly state: StateFilter | ''; readonly label: string; readonly tone?: Tone }[] = [
  { state: '', label: 'Not idle' },
  { state: 'ready', label: 'Ready', tone: 'ready' },
  { state: 'running', label: 'Running', tone: 'running' },
  { state: 'waiting', label: 'Waiting', tone: 'waiting' },
  { state: 'abandoned', label: 'Abandoned', tone: 'abandoned' },
  { state: 'paused', label: 'Paused', tone: 'paused' },
  { state: 'failing', label: 'Failing', tone: 'bad' },
];

interface Fact {
  readonly label: string;
  readonly text: string;
  readonly tone?: Tone;
  readonly id?: string;
}

/** A loop at a glance: its facts, its pause, and how many ids are in each state. */
export class OverviewView {
  readonly #pause = find('loop-pause', HTMLElement);
  readonly #facts = new Keyed<Fact>(
    find('facts', HTMLElement),
    ({ label }) => label,
    () => fact(this.router),
  );
  readonly #tiles: readonly { readonly state: string; readonly element: HTMLElement; readonly number: HTMLElement }[];

  constructor(readonly router: Router) {
    this.#tiles = FILTERS.filter(({ state }) => state !== 'failing').map(({ state, label, tone }) => {
      const number = el('span', {}, '–');
      const element = el(
        'button',
        { type: 'button', class: 'state', 'data-tone': tone, 'data-state': state, 'aria-pressed': String(state === '') },
        el('span', {}, label),
        number,
      );
      element.addEventListener('click', () => {
        router.go({ state: router.now.state === state ? '' : state });
      });
      return { state, element, number };
    });
    find('states', HTMLElement).replaceChildren(...this.#tiles.map(({ element }) => element));
  }

  show(overview: Overview): void {
    const { ready, running, waiting, abandoned, pausedIds, paused, at } = overview;
    const numbers: Readonly<Record<string, number>> = {
      '': ready + running + waiting + abandoned,
      ready,
      running,
      waiting,
      abandoned,
      paused: pausedIds,
    };
    for (const { state, number } of this.#tiles) setText(number, count(numbers[state] ?? 0));
    setHidden(this.#pause, paused === undefined);
    if (paused !== undefined) {
      const why = paused.why === undefined || paused.why === '' ? '' : `: ${paused.why}`;
      setText(this.#pause, `The whole loop has been paused for ${duration(at - paused.since)}${why}`);
    }
    this.#facts.show(this.#factsOf(overview));
  }

  clear(): void {
    this.#facts.show([]);
    setHidden(this.#pause, true);
    for (const { number } of this.#tiles) setText(number, '–');
  }

  #factsOf({ leading, term, shards, oldest, workers, running, at, completed }: Overview): Fact[] {
    const facts: Fact[] = [{ label: 'Lead', text: leading ? 'leading' : 'standing by', tone: leading ? 'good' : 'idle' }];
    if (term !== undefined) facts.push({ label: 'Term', text: String(term) });
    if (shards !== undefined) facts.push({ label: 'Shards', text: shardsText(shards) });
    const busy = workers.filter((worker) => worker.running > 0).length;
    facts.push({ label: 'Workers', text: `${count(busy)} of ${count(workers.length)} busy, ${count(running)} running` });
    if (oldest !== undefined) {
      facts.push({ label: 'Oldest unconverged', text: `for ${duration(at - oldest.since)}`, id: oldest.id });
    } else facts.push({ label: 'Oldest unconverged', text: 'none' });
    if (completed !== undefined) facts.push({ label: 'Streams that have completed', text: completed.join(', ') });
    return facts;
  }
}

function shardsText({ count: all, owned }: NonNullable<Overview['shards']>): string {
  const some = owned.slice(0, 12).map(({ shard }) => shard);
  return `${owned.length} of ${all}${some.length > 0 ? `: ${some.join(', ')}` : ''}${owned.length > some.length ? ', …' : ''}`;
}

function fact(router: Router): Item<Fact> {
  const [label, link, text] = [el('dt'), el('a'), el('span')];
  return {
    element: el('div', {}, label, el('dd', {}, link, ' ', text)),
    update: (value) => {
      setText(label, value.label);
      setHidden(link, value.id === undefined);
      if (value.id !== undefined) {
        setText(link, value.id);
        pointTo(link, router, value.id);
      }
      setText(text, value.text);
      setAttribute(text, 'class', value.tone === undefined ? undefined : 'chip');
      setAttribute(text, 'data-tone', value.tone);
    },
  };
}
