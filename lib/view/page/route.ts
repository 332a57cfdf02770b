import { BehaviorSubject, type Observable } from 'rxjs';
import { format, parse, type Route } from './address.js';

/** The address of the page, and how it is changed. */
export class Router {
  /** What is shown, now and from now on. */
  readonly changes: Observable<Route>;
  readonly #route: BehaviorSubject<Route>;

  constructor(readonly names: readonly string[]) {
    this.#route = new BehaviorSubject(parse(location.hash, names));
    this.changes = this.#route.asObservable();
    window.addEventListener('hashchange', () => {
      if (location.hash === '' || location.hash.startsWith('#/')) this.#show(parse(location.hash, names));
    });
  }

  get now(): Route {
    return this.#route.value;
  }

  /** @param isNew - whether the way back leads to what was shown before */
  go(change: Partial<Route>, isNew = true): void {
    const route = { ...this.now, ...change };
    const hash = format(route);
    if (hash !== format(this.now)) history[isNew ? 'pushState' : 'replaceState'](null, '', hash);
    this.#show(route);
  }

  #show(route: Route): void {
    if (format(route) !== format(this.now)) this.#route.next(route);
  }
}
