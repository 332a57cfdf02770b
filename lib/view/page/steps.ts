import type { StepMessage } from '../api.js';
import { el, find, setAttribute, setHidden, setText } from './dom.js';
import { clock, count, details, moment, rate } from './format.js';
import { pointTo } from './link.js';
import type { Router } from './route.js';
import type { News } from './server.js';
import { lookOf } from './tone.js';

/** How many steps stay on the page. */
const KEPT = 200;

/** What happens now, newest first. Somebody who is in the list, by pointer or keyboard, is not disturbed: it goes on afterwards. */
export class StepsView {
  readonly #list = find('steps', HTMLElement);
  readonly #rate = find('steps-rate', HTMLElement);
  readonly #follow = find('follow', HTMLButtonElement);
  #waiting: StepMessage[] = [];
  #seen = 0;
  #missed = 0;

  constructor(readonly router: Router) {
    this.#follow.addEventListener('click', () => {
      setAttribute(this.#follow, 'aria-pressed', String(!this.#isFollowing));
      this.draw();
    });
  }

  enter(news: News): void {
    if ('missed' in news) this.#missed += news.missed;
    if (!('step' in news)) return;
    this.#seen++;
    this.#waiting.push(news.step);
    if (this.#waiting.length > KEPT) this.#waiting.shift();
  }

  /** To be called several times a second. */
  draw(): void {
    if (this.#isHeld) return;
    const steps = this.#waiting.splice(0);
    if (steps.length === 0) return;
    this.#list.prepend(...steps.reverse().map((step) => this.#line(step)));
    while (this.#list.childElementCount > KEPT) this.#list.lastElementChild?.remove();
  }

  /** To be called once in so many ms. */
  tell(every: number): void {
    const all = this.#seen + this.#missed;
    const sampled = this.#missed === 0 ? '' : `, ${count(this.#seen)} of ${count(all)} shown`;
    setText(this.#rate, `${rate((all * 1000) / every)}${sampled}${this.#isHeld ? ', held' : ''}`);
    this.#seen = this.#missed = 0;
  }

  clear(): void {
    this.#list.replaceChildren();
    this.#waiting = [];
    setText(this.#rate, '');
  }

  get #isHeld(): boolean {
    return !this.#isFollowing || this.#list.matches(':hover, :focus-within');
  }

  get #isFollowing(): boolean {
    return this.#follow.getAttribute('aria-pressed') === 'true';
  }

  #line(step: StepMessage): HTMLElement {
    const { id, at, kind } = step;
    const text = details(step);
    const what = el('span', { class: 'what', title: text }, text);
    setHidden(what, text === '');
    const link = el('a', { class: 'clip', title: id }, id);
    pointTo(link, this.router, id);
    return el(
      'li',
      {},
      el('time', { datetime: moment(at) }, clock(at)),
      id === '' ? el('span', {}, 'the whole loop') : link,
      el('span', { class: 'chip', 'data-tone': lookOf(step).tone }, kind),
      what,
    );
  }
}
