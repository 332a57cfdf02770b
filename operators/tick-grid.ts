import { ClockWatch } from './clock-watch.js';
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
  disarm: () => void = () => undefined;

  constructor(
    readonly ticks: TickGrid<T>,
    readonly epoch: number,
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
  fire(now: number): void {
    this.fired = true;
    this.ticks.fired(this, now);
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

  /** @param arm - called for each tick that is made; must see to it that it is fired then, and returns how to disarm it */
  constructor(
    readonly resolution: number,
    readonly arm: (tick: Tick<T>) => () => void,
    readonly clock = new ClockWatch(),
  ) {}

  /** The first tick that is no sooner than `delay` ms after `now`. */
  after(delay: number, now: number): Tick<T> {
    const due = Math.ceil((now + delay) / this.resolution) * this.resolution;
    // One that is lost in the precision of the clock is a delay all the same.
    return this.at(delay > 0 && due <= now ? due + this.resolution : due, now);
  }

  /** The tick of the grid that is due at `due`. It is shared with those who came before only if the clock is still what it was then. */
  at(due: number, now: number): Tick<T> {
    const { clock } = this;
    clock.see(now);
    const armed = this.#armed.get(due);
    if (armed?.epoch === clock.epoch) return armed;
    const tick = new Tick(this, clock.epoch, due, now);
    this.#armed.set(due, tick);
    tick.disarm = this.arm(tick);
    return tick;
  }

  fired(tick: Tick<T>, now: number): void {
    this.clock.fired(tick.epoch, tick.due, now);
    this.forget(tick);
  }

  forget(tick: Tick<T>): void {
    if (this.#armed.get(tick.due) === tick) this.#armed.delete(tick.due);
  }
}
