import type { Trigger } from '../../../operators/types.js';
import type { Timer } from '../virtual-scheduler.js';
import type { Fault } from './schedule.js';
import type { Stage } from './stage.js';

/** How long an event waits at most to be overtaken, in ms. */
const PATIENCE = 10_000;

/** The way from a change of the world to the processes, and what can happen on it. */
export class EventStream<W> {
  /** Nothing arrives before this moment. */
  #stalledUntil = 0;
  /** The events that are to be overtaken, by id. */
  readonly #held = new Map<string, () => void>();

  constructor(
    readonly stage: Stage<W>,
    readonly name: string,
  ) {}

  emit(id: string, message: unknown, fault: Fault | undefined): void {
    const { stage } = this;
    const trigger: Trigger = { id, stream: this.name, message };
    const overtaken = this.#held.get(id);
    this.#held.delete(id);
    switch (fault?.kind) {
      case 'drop':
        break;
      case 'reorder':
        this.#hold(trigger);
        break;
      case 'duplicate':
        this.#send(trigger);
        stage.later(fault.ms, () => {
          this.#send(trigger);
        });
        break;
      case 'delay':
        this.#stalledUntil = Math.max(this.#stalledUntil, stage.elapsed + fault.ms);
        this.#send(trigger);
        break;
      default:
        this.#send(trigger);
    }
    overtaken?.();
  }

  #hold(trigger: Trigger): void {
    let isHeld = true;
    const release = (): void => {
      if (isHeld) this.#send(trigger);
      isHeld = false;
    };
    this.#held.set(trigger.id, release);
    this.stage.later(PATIENCE, release);
  }

  #send(trigger: Trigger): void {
    const { stage } = this;
    const stalled = this.#stalledUntil - stage.elapsed;
    const delivery = new Delivery(stage, trigger);
    if (stalled > 0) stage.laterRun(stalled, delivery);
    else stage.scheduler.add(0, delivery);
  }
}

/** An event on its way. */
class Delivery<W> implements Timer {
  due = 0;
  order = 0;
  index = -1;

  constructor(
    readonly stage: Stage<W>,
    readonly trigger: Trigger,
  ) {}

  run(): void {
    this.stage.deliver(this.trigger);
  }
}
