import { VirtualTimeScheduler } from 'rxjs';

/** Virtual time that stands still until a test lets it pass. Its wall clock can be set, as that of a machine can. */
export class Clock extends VirtualTimeScheduler {
  /** By how many ms the wall clock has been set forward. The timers do not care. */
  wallClockSetBy = 0;

  override now = (): number => this.frame + this.wallClockSetBy;

  /** How many timers are pending. */
  get timers(): number {
    return this.actions.length;
  }

  /** Lets `ms` pass. */
  advance(ms: number): void {
    const until = this.frame + ms;
    this.maxFrames = until;
    this.flush();
    this.frame = until;
  }

  /** Lets `ms` pass, and at each moment in which something is due lets the promises settle. */
  async pass(ms: number): Promise<void> {
    const until = this.frame + ms;
    await settled();
    for (let next = this.actions[0]; next !== undefined && next.delay <= until; next = this.actions[0]) {
      this.maxFrames = next.delay;
      this.flush();
      await settled();
    }
    this.frame = until;
  }
}

/** Lets the promises settle, and those that wait for them. */
async function settled(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}
