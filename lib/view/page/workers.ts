import type { Overview, WorkerOverview } from '../api.js';
import { el, find, setHidden, setText } from './dom.js';
import { count, duration } from './format.js';
import { type Item, Keyed } from './keyed.js';
import { pointTo } from './link.js';
import type { Router } from './route.js';

/** More of them nobody reads; those that are busy for longest come first. */
const AT_MOST = 60;

interface Line {
  readonly key: string;
  readonly worker: string;
  readonly id?: string;
  readonly text: string;
}

/** What runs in each worker, and for how long. */
export class WorkersView {
  readonly #list = find('workers', HTMLElement);
  readonly #busy = find('workers-busy', HTMLElement);
  readonly #lines = new Keyed<Line>(
    this.#list,
    ({ key }) => key,
    () => this.#line(),
    this.#list,
  );

  constructor(readonly router: Router) {}

  show({ workers, at }: Overview): void {
    const named = workers.length > 1 && new Set(workers.map(({ name }) => name)).size === workers.length;
    const busy = workers.filter(({ runs }) => runs.length > 0).sort((a, b) => longest(a) - longest(b));
    const idle = workers.filter(({ runs }) => runs.length === 0);
    const lines = [...busy, ...idle].slice(0, AT_MOST).flatMap((worker) => linesOf(worker, named ? worker.name : `${worker.worker}`, at));
    const more = workers.length - AT_MOST;
    if (more > 0) lines.push({ key: 'more', worker: '', text: `and ${count(more)} more` });
    if (workers.length === 0) lines.push({ key: 'none', worker: '', text: 'No id has come yet' });
    this.#lines.show(lines);
    setText(this.#busy, `${count(busy.length)} of ${count(workers.length)} busy`);
  }

  clear(): void {
    this.#lines.show([]);
    setText(this.#busy, '');
  }

  #line(): Item<Line> {
    const [worker, link, plain, since] = [el('span', { class: 'muted' }), el('a'), el('span', { class: 'muted' }), el('span')];
    since.className = 'muted';
    return {
      element: el('li', {}, worker, el('span', { class: 'clip' }, link, plain), since),
      update: (line) => {
        setText(worker, line.worker);
        setHidden(link, line.id === undefined);
        setHidden(plain, line.id !== undefined);
        if (line.id === undefined) setText(plain, line.text);
        else {
          setText(link, line.id);
          pointTo(link, this.router, line.id);
        }
        setText(since, line.id === undefined ? '' : line.text);
      },
    };
  }
}

function longest({ runs: [first] }: WorkerOverview): number {
  return first?.since ?? Infinity;
}

function linesOf({ worker, runs, running, ready }: WorkerOverview, name: string, at: number): Line[] {
  if (runs.length === 0) return [{ key: `${worker}`, worker: name, text: ready > 0 ? `idle, ${count(ready)} ready` : 'idle' }];
  const lines = runs.map(({ id, attempt, since }, index) => ({
    key: `${worker} ${id}`,
    worker: index === 0 ? name : '',
    id,
    text: `${attempt > 1 ? `attempt ${attempt}, ` : ''}${duration(at - since)}`,
  }));
  if (running <= runs.length) return lines;
  return [...lines, { key: `${worker} more`, worker: '', text: `and ${count(running - runs.length)} more` }];
}
