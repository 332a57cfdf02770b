import type { Action } from '../api.js';
import type { Ask } from './ask.js';
import { el, setHidden, setText } from './dom.js';

/**
 * A button for one action, or for several of which one is possible at a time: pausing and resuming. It stays the same one, so that
 * who has it in focus keeps it.
 */
export class ActionButton {
  readonly element: HTMLButtonElement;
  #action: Action | undefined;

  /** @param id - what is asked for; none: the whole loop */
  constructor(
    readonly texts: Partial<Record<Action, string>>,
    ask: Ask,
    id: () => string | undefined,
  ) {
    this.element = el('button', { type: 'button', class: `button${'discard' in texts ? ' danger' : ''}`, hidden: true });
    this.element.addEventListener('click', () => {
      if (this.#action !== undefined) ask.open(this.#action, id());
    });
  }

  /** Offers the one of these actions that it is for, or nothing. */
  offer(actions: readonly Action[]): void {
    this.#action = actions.find((action) => action in this.texts);
    setHidden(this.element, this.#action === undefined);
    if (this.#action !== undefined) setText(this.element, this.texts[this.#action] ?? '');
  }
}

/** Those of the actions that change something: what is paused can be resumed, and what is not can be paused. */
export function sensible(actions: readonly Action[], isPaused: boolean): readonly Action[] {
  return actions.filter((action) => action !== (isPaused ? 'pause' : 'resume'));
}
