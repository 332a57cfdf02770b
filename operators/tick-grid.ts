import { LinkedList, type LinkedListNode } from './linked-list.js';

/**
 * One moment of the grid, and who waits for it. Armed once, with a delay, when it is made; from then on no clock is
 * compared: it has fired or it has not (T4).
 */
export class Tick<T extends LinkedListNode<T>> {
  readonly members = new LinkedList<T>();
  fired = false;
  /** How many look at `fired` without being members. */
  #holds = 0;
  /**
   * Whoever armed it puts here how to disarm it: a function that has a name already. V8 puts one that is written right into an
   * assignment to a property where only a full garbage collection looks, and its whole loop would stay there with it.
   */
  disarm: () => void = () => undefined;

  constructor(
    readonly ticks: TickGrid<T>,
    /** On the clock by which it was made, in ms. A label: it may be wrong once that clock has been set. */
    readonly due: number,
    readonly armedAt: number,
  ) {}

  hold(): void {
    this.#holds++;
  }

  letGo(): void {
    this.#holds--;
    this.#disarmIfSpare();
  }

  join(member: T): void {
    this.members.push(member);
  }

  leave(member: T): void {
    this.members.remove(member);
    this.#disarmIfSpare();
  }

  /** Marks it as fired and takes it off the grid, so that whoever comes now waits for a later one. */
  fire(): void {
    this.fired = true;
    this.ticks.forget(this);
  }

  #disarmIfSpare(): void {
    if (this.fired || this.#holds > 0 || !this.members.isEmpty) return;
    this.ticks.forget(this);
    this.disarm();
  }
}

/**
 * The grid of moments, `resolution` ms apart, to which delays are rounded up, so that all who are due in one tick share
 * one timer (T1, T2).
 */
export class TickGrid<T extends LinkedListNode<T>> {
  readonly #armed = new Map<number, Tick<T>>();
  /** The last moment it was given. */
  #now = -Infinity;

  /** @param arm - called for each tick that is made; must see to it that it is fired after `tick.due - tick.armedAt` ms */
  constructor(
    readonly resolution: number,
    readonly arm: (tick: Tick<T>) => void,
  ) {}

  /** The first tick that is no sooner than `delay` ms after `now`. */
  after(delay: number, now: number): Tick<T> {
    // The clock has been set back. What was armed before will fire, but too early for those who come from now on (T4).
    if (now < this.#now) this.#armed.clear();
    this.#now = now;
    const due = Math.ceil((now + delay) / this.resolution) * this.resolution;
    const armed = this.#armed.get(due);
    if (armed !== undefined) return armed;
    const tick = new Tick(this, due, now);
    this.#armed.set(due, tick);
    this.arm(tick);
    return tick;
  }

  forget(tick: Tick<T>): void {
    if (this.#armed.get(tick.due) === tick) this.#armed.delete(tick.due);
  }
}
