import { BehaviorSubject, type Observable } from 'rxjs';

/** What the page shows; it stands in the address, so that it can be sent to somebody. */
export interface Route {
  /** The controller. */
  readonly name: string;
  /** The id that is open. */
  readonly id?: string | undefined;
  readonly state: string;
  readonly search: string;
}

/** `#/NAME/ID?state=&search=` */
export function format({ name, id, state, search }: Route): string {
  const query = new URLSearchParams();
  if (state !== '') query.set('state', state);
  if (search !== '') query.set('search', search);
  const path = [name, ...(id === undefined ? [] : [id])].map(encode).join('/');
  return `#/${path}${query.size > 0 ? `?${query.toString()}` : ''}`;
}

/** Whatever stands in the address; a name that is not known is the first one that is. */
export function parse(hash: string, names: readonly string[]): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [name = '', ...id] = path.split('/').map(decode);
  const search = new URLSearchParams(query);
  return {
    name: names.includes(name) ? name : (names[0] ?? ''),
    ...(id.length > 0 && id[0] !== '' && { id: id.join('/') }),
    state: search.get('state') ?? '',
    search: search.get('search') ?? '',
  };
}

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

function encode(text: string): string {
  return encodeURIComponent(text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd'));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
