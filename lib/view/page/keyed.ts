/** What stands for one item. */
export interface Item<T> {
  readonly element: Element;
  update(value: T): void;
}

/** The children of `parent`, one for each value. Whoever stays, stays as it is: with its focus, its selection, its place. */
export class Keyed<T> {
  readonly #items = new Map<string, Item<T>>();

  /**
   * @param keyOf - two values with one key are told apart by their order
   * @param fallback - has the focus when the one who had it is gone
   */
  constructor(
    readonly parent: Element,
    readonly keyOf: (value: T) => string,
    readonly create: () => Item<T>,
    readonly fallback?: HTMLElement,
  ) {}

  show(values: readonly T[]): void {
    const hadFocus = this.parent.contains(document.activeElement);
    const shown = new Map<string, T>();
    for (const value of values) shown.set(this.#unique(value, shown), value);
    for (const [key, item] of this.#items) {
      if (shown.has(key)) continue;
      item.element.remove();
      this.#items.delete(key);
    }
    let place = this.parent.firstElementChild;
    for (const [key, value] of shown) {
      const item = this.#items.get(key) ?? this.create();
      this.#items.set(key, item);
      item.update(value);
      if (item.element === place) place = place.nextElementSibling;
      else this.parent.insertBefore(item.element, place);
    }
    if (hadFocus && !this.parent.contains(document.activeElement)) this.fallback?.focus({ preventScroll: true });
  }

  #unique(value: T, taken: ReadonlyMap<string, T>): string {
    const key = this.keyOf(value);
    let unique = key;
    for (let copy = 1; taken.has(unique); copy++) unique = `${key}\n${copy}`;
    return unique;
  }
}
