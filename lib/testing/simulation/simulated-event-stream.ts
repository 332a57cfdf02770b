import type { Trigger } from '../../../operators/types.js';
import type { Timer } from '../virtual-scheduler.js';
import type { Fault } from './schedule.js';
import type { SimulatedStream } from './scenario.js';
import type { SimulationEnvironment } from './environment.js';
import { triggerOf } from './trigger-of.js';

/** How long an event waits at most to be overtaken, in ms. */
const MAX_HELD = 10_000;

/** The way from a change of the world to the processes, and what can happen on it. */
export class SimulatedEventStream<W> {
  /** Nothing arrives before this moment. */
  #stalledUntil = 0;
  /** The events that are to be overtaken, by id. */
  readonly #held = new Map<string, () => void>();

  constructor(
    readonly environment: SimulationEnvironment<W>,
    readonly name: string,
    readonly stream: SimulatedStream<W>,
  ) {}

  emit(id: string, message: unknown, fault: Fault | undefined): void {
    const { environment } = this;
    const trigger: Trigger = { ...triggerOf(id, this.name, this.stream), message };
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
        environment.postpone(fault.ms, () => {
          this.#send(trigger);
        });
        break;
      case 'delay':
        this.#stalledUntil = Math.max(this.#stalledUntil, environment.elapsed + fault.ms);
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
    this.environment.postpone(MAX_HELD, release);
  }

  #send(trigger: Trigger): void {
    const { environment } = this;
    const stalled = this.#stalledUntil - environment.elapsed;
    const delivery = new Delivery(environment, trigger);
    if (stalled > 0) environment.postponeTimer(stalled, delivery);
    else environment.scheduler.add(0, delivery);
  }
}

/** An event on its way. */
class Delivery<W> implements Timer {
  due = 0;
  order = 0;
  index = -1;

  constructor(
    readonly environment: SimulationEnvironment<W>,
    readonly trigger: Trigger,
  ) {}

  run(): void {
    this.environment.deliver(this.trigger);
  }
}
