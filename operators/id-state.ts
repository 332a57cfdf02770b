import { markedAnew } from './marked-anew.js';
import type { Step } from './types.js';

/** What the steps of one id so far say about it: the only place where they are folded. It may begin in the middle of a loop's life. */
export class IdState {
  /** The one it is in, or, while it is abandoned, will be in. What only rests is idle. */
  state: 'idle' | 'ready' | 'running' | 'waiting' = 'idle';
  /** Events came for it that the run in hand cannot serve. */
  isDirty = false;
  isAbandoned = false;

  /** As the workqueue counts it: an abandoned id may have a wake-up ahead, but does not count as waiting. */
  get counted(): 'idle' | 'ready' | 'running' | 'waiting' | 'abandoned' {
    return this.isAbandoned ? 'abandoned' : this.state;
  }

  follow(step: Step): void {
    switch (step.kind) {
      case 'enqueued':
      case 'started':
        this.#enter(step.kind === 'enqueued' ? 'ready' : 'running');
        break;
      case 'merged':
        // It is idle where it rests, is paused or abandoned: now it waits for the end of that.
        if (this.state === 'idle') this.state = 'waiting';
        else if (this.state === 'running') this.isDirty = true;
        break;
      case 'requeued':
        this.#enter('waiting');
        break;
      case 'succeeded':
        // Dirty: it is enqueued next, or waits for the end of a rest or a pause.
        this.#enter(this.isDirty ? 'waiting' : 'idle');
        break;
      case 'dropped':
        // Dirty: it waits out its embargo and starts afresh, but where the whole lane is dropped.
        this.#enter((this.isDirty && step.reason !== 'stopped' && step.reason !== 'moved') || markedAnew.has(step) ? 'waiting' : 'idle');
        break;
      case 'abandoned':
      case 'released':
        this.isAbandoned = step.kind === 'abandoned';
        break;
      case 'rejected':
      case 'paused':
      case 'resumed':
    }
  }

  #enter(state: IdState['state']): void {
    this.state = state;
    this.isDirty = false;
  }
}
