/**
 * Watches whether what a clock shows fits together. Only a timer knows how much time has really passed, so the clock counts as
 * consistent only while it is read again and again, no reading is earlier than the one before, and none is later by more than
 * `resolution`, unless a timer proves that this time has passed. What was armed in another epoch may be due at any time: its label
 * says nothing to those who come now (T4).
 */
export class ClockWatch {
  /** Another one each time the clock may have been set. */
  epoch = 0;
  // Not `#`: where the engine keeps private fields it makes each number anew that is no small integer.
  private last = -Infinity;

  /** @param resolution - Infinity: only a clock that is set back is noticed */
  constructor(readonly resolution = Infinity) {}

  /** The clock shows `now`. */
  see(now: number): void {
    if (now < this.last || now > this.last + this.resolution) this.epoch++;
    this.last = now;
  }

  /** A timer that was armed in `epoch` to be due at `due` fires at `now`: the clock has been consistent all the while, or it was set. */
  fired(epoch: number, due: number, now: number): void {
    if (epoch === this.epoch && now >= this.last && now >= due && now <= due + this.resolution) this.last = now;
    else this.see(now);
  }
}
